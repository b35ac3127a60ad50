-- dot_choice.lua: what dot takes for a product of tiles: the atom, by types, target and extents;
-- how the warps of the block share the tile; and how an operand comes from memory to registers. It
-- is plain Lua: a trace calls it as a static_fn.
local internal = ...
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = {}

local WARP <const>, WARPGROUP <const> = 32, 128
local CPU_RUNS <const> = 120 -- the CPU engine computes every atom
local fail = tiles.fail

-- Products of elements of types a and b: the atoms, and from which compute capability on, the best
-- first. What no row takes is multiplied by plain FMAs.
local function row(a, b, sm, name) return { a = a, b = b, sm = sm, name = name } end

local atoms <const> = {
  row("f16", "f16", 80, "SM80_16x8x16_F32F16F16F32_TN"),
  row("f16", "f16", 80, "SM80_16x8x8_F32F16F16F32_TN"),
  row("f16", "f16", 75, "SM75_16x8x8_F32F16F16F32_TN"),
  row("bf16", "bf16", 80, "SM80_16x8x16_F32BF16BF16F32_TN"),
  row("bf16", "bf16", 80, "SM80_16x8x8_F32BF16BF16F32_TN"),
  row("tf32", "tf32", 80, "SM80_16x8x8_F32TF32TF32F32_TN"),
  row("tf32", "tf32", 80, "SM80_16x8x4_F32TF32TF32F32_TN"),
  row("f8e4m3", "f8e4m3", 89, "SM89_16x8x32_F32E4M3E4M3F32_TN"),
  row("f8e4m3", "f8e5m2", 89, "SM89_16x8x32_F32E4M3E5M2F32_TN"),
  row("f8e5m2", "f8e4m3", 89, "SM89_16x8x32_F32E5M2E4M3F32_TN"),
  row("f8e5m2", "f8e5m2", 89, "SM89_16x8x32_F32E5M2E5M2F32_TN"),
  row("i8", "i8", 80, "SM80_16x8x32_S32S8S8S32_TN"),
  row("i8", "i8", 80, "SM80_16x8x16_S32S8S8S32_TN"),
  row("i8", "i8", 75, "SM75_8x8x16_S32S8S8S32_TN"),
  row("i8", "u8", 80, "SM80_16x8x32_S32S8U8S32_TN"),
  row("i8", "u8", 80, "SM80_16x8x16_S32S8U8S32_TN"),
  row("u8", "i8", 80, "SM80_16x8x32_S32U8S8S32_TN"),
  row("u8", "i8", 80, "SM80_16x8x16_S32U8S8S32_TN"),
  row("u8", "u8", 80, "SM80_16x8x32_S32U8U8S32_TN"),
  row("u8", "u8", 80, "SM80_16x8x16_S32U8U8S32_TN"),
  row("f64", "f64", 90, "SM90_16x8x16_F64F64F64F64_TN"),
  row("f64", "f64", 90, "SM90_16x8x8_F64F64F64F64_TN"),
  row("f64", "f64", 90, "SM90_16x8x4_F64F64F64F64_TN"),
  row("f64", "f64", 80, "SM80_8x8x4_F64F64F64F64_TN"),
}

-- Of 6 bits with 6 or with 8, on sm_120 alone.
for _, a in ipairs { "f8e4m3", "f8e5m2", "f6e2m3", "f6e3m2" } do
  for _, b in ipairs { "f8e4m3", "f8e5m2", "f6e2m3", "f6e3m2" } do
    if (a .. b):find "f6" then
      atoms[#atoms + 1] = row(a, b, 120, ("SM120_16x8x32_TN<%s,%s,f32>"):format(a, b))
    end
  end
end

-- The type that plain FMAs add up in, by the type of the operands.
local plain_sums <const> = {
  f64 = f64, f32 = f32, tf32 = f32, f16 = f32, bf16 = f32, f8e4m3 = f32,
  f8e5m2 = f32, f6e2m3 = f32, f6e3m2 = f32, i8 = i32, u8 = i32, i16 = i32, u16 = i32, i32 = i32,
}

--- May elements of these types be multiplied?
function M.goes_together(a, b)
  local one, other = plain_sums[a.name], plain_sums[b.name]
  if one == nil or other == nil then return false end
  if a == b then return true end
  return lists.any(atoms, function(r) return r.a == a.name and r.b == b.name end)
end

-- {====== Threads over the tile ======

-- Of n in two factors: {m, n} with the least elements to read, more along M where two are equal;
-- fits(m, n) says what may be.
local function least_pair(p, n, fits)
  local best, least
  for m = n, 1, -1 do
    if n % m == 0 and fits(m, n // m) then
      local reads = p.M // m + p.N // (n // m)
      if least == nil or reads < least then best, least = { m, n // m }, reads end
    end
  end
  return best
end

-- 16 columns at a step where there are as many, so one ldmatrix brings two atoms of B.
local function tiled(p, atom, warps)
  local m, n, k = atom.shape[1] * warps[1], atom.shape[2] * warps[2], atom.shape[3]
  if p.N % (2 * n) == 0 then n = 2 * n end
  return tiled_mma(atom, layout({ warps[1], warps[2], 1 }), { m, n, k })
end

-- Does the tile of the MMA divide the operands' layouts?
local function divides(p, mma)
  return tiles.keeps_size(p.layout_A, function(l) return mma:thrfrg_A(l) end)
    and tiles.keeps_size(p.layout_B, function(l) return mma:thrfrg_B(l) end)
end

local function warps_over(p, atom)
  local shape = atom.shape
  local function fits(m, n)
    return p.M % (shape[1] * m) == 0 and p.N % (shape[2] * n) == 0
      and divides(p, tiled(p, atom, { m, n }))
  end
  if p.warps then return fits(p.warps[1], p.warps[2]) and p.warps or nil end
  return least_pair(p, p.threads // WARP, fits)
end

-- Why the atom does not fit, or how the warps share the tile.
local function why_not(p, atom)
  local shape = atom.shape
  if p.M % shape[1] ~= 0 or p.N % shape[2] ~= 0 or p.K % shape[3] ~= 0 then
    return ("does not divide (M,N,K) = (%d,%d,%d)"):format(p.M, p.N, p.K)
  elseif p.threads % WARP ~= 0 then
    return ("needs whole warps, and there are %d threads"):format(p.threads)
  end
  local warps = warps_over(p, atom)
  if warps then return nil, warps end
  local who = p.warps and ("warps = {%d, %d}"):format(p.warps[1], p.warps[2])
    or ("%d warps"):format(p.threads // WARP)
  local layouts = p.layout_A and p.layout_B and
    (", A %s and B %s"):format(p.layout_A, p.layout_B) or ""
  return ("of %s does not divide (M,N) = (%d,%d)%s"):format(who, p.M, p.N, layouts)
end

local function with_atom(p, atom, warps, why)
  return { mma = tiled(p, atom, warps), sum = atom.dtypes.d, warps = warps, why = why }
end

-- {====== By warpgroups ======

-- Of wgmma: K, the types in the atom's name, and what follows there, by the operands' types.
local function group_row(a, b, k, types, suffix)
  return { a = a, b = b, k = k, types = types, suffix = suffix }
end

local group_atoms <const> = {
  group_row("f16", "f16", 16, "F32F16F16", ""),
  group_row("bf16", "bf16", 16, "F32BF16BF16", ""),
  group_row("tf32", "tf32", 8, "F32TF32TF32", "_TN"),
  group_row("f8e4m3", "f8e4m3", 32, "F32E4M3E4M3", "_TN"),
  group_row("f8e4m3", "f8e5m2", 32, "F32E4M3E5M2", "_TN"),
  group_row("f8e5m2", "f8e4m3", 32, "F32E5M2E4M3", "_TN"),
  group_row("f8e5m2", "f8e5m2", 32, "F32E5M2E5M2", "_TN"),
  group_row("i8", "i8", 32, "S32S8S8", "_TN"),
  group_row("u8", "u8", 32, "S32U8U8", "_TN"),
}

local function group_atom(p, n)
  for _, r in ipairs(group_atoms) do
    if r.a == p.a and r.b == p.b then
      return ("SM90_64x%dx%d_%s_%s%s"):format(n, r.k, r.types, p.in_registers and "RS" or "SS",
        r.suffix)
    end
  end
  fail(p.op, "wgmma cannot multiply %s by %s; leave out wgmma", p.a, p.b)
end

-- The widest atom for warpgroups over each other, or side by side where M has no room.
local function by_groups(p)
  local groups = math.max(p.threads // WARPGROUP, 1)
  local is_over = p.M % (64 * groups) == 0
  local across = is_over and 1 or groups
  local is_whole = p.threads % WARPGROUP == 0 and p.M % (64 * groups // across) == 0
  if not is_whole or p.N == 0 or p.N % (8 * across) ~= 0 then
    fail(p.op, "wgmma needs M = %d to be a multiple of 64, N = %d of 8 and threads = %d of %d; "
      .. "use other extents, or leave out wgmma", p.M, p.N, p.threads, WARPGROUP)
  end
  local n = math.min(p.N // across, 256)
  while p.N // across % n ~= 0 or n % 8 ~= 0 do n = n - 1 end
  local atom = atom(group_atom(p, n))
  if p.K % atom.shape[3] ~= 0 then
    fail(p.op, "K = %d is not a multiple of %d in %s", p.K, atom.shape[3], atom.name)
  end
  local over = layout({ groups // across, across, 1 })
  return { mma = tiled_mma(atom, over), sum = atom.dtypes.d, why = "as wgmma = true says",
           warps = { 4 * groups // across, across } }
end

-- {====== The choice ======

-- Does the atom take tiles of the types of A and B? One of tf32 reads f32, too.
local function takes(atom, p)
  local function is(dtype, name)
    return type(dtype) ~= "string" and (dtype.name == name or dtype == tf32 and name == "f32")
  end
  return is(atom.dtypes.a, p.a) and is(atom.dtypes.b, p.b)
end

local function by_hand(p)
  local atom = tiles.to_atom(p.atom, "mma", p.op)
  if atom.threads ~= WARP then
    fail(p.op, "%s is not a warp's atom; use one of mma.sync, such as %s, or write {wgmma = true}",
      atom.name, atoms[1].name)
  elseif atom.sf_vec_size then
    fail(p.op, "%s multiplies by scales, which only gemm takes: gemm(mma, {A, SFA}, {B, SFB}, C)",
      atom.name)
  elseif not takes(atom, p) then
    fail(p.op, "%s multiplies %s by %s, but A is of type %s and B of type %s", atom.name,
      atom.dtypes.a, atom.dtypes.b, p.a, p.b)
  end
  local why, warps = why_not(p, atom)
  if why then return nil, ("%s %s; use other extents or another atom"):format(atom.name, why) end
  return with_atom(p, atom, warps, "as options.atom says")
end

-- Threads side by side, each with plain FMAs; nil: they do not divide the product. `why`: what is
-- wrong with atoms.
local function plain(p, why)
  local sum = plain_sums[p.dtype.name]
  local function by(m, n)
    return tiled_mma(("UniversalFMA<%s>"):format(sum), layout({ m, n, 1 }, { n, 1, 0 }))
  end
  local threads = least_pair(p, p.threads, function(m, n)
    return p.M % m == 0 and p.N % n == 0 and divides(p, by(m, n))
  end)
  if threads == nil or p.warps then
    return nil, ("the product (M,N,K) = (%d,%d,%d) of %s cannot be shared by %d threads: %s%s; "
      .. "use other extents, or %s"):format(p.M, p.N, p.K, p.dtype, p.threads, why,
      p.warps and "" or ", and single threads do not divide it either",
      p.warps and "leave out warps" or "another block")
  end
  return { mma = by(threads[1], threads[2]), sum = sum, why = why }
end

-- The widest atom of mma.sync that fits; or nil, and why none does.
local function by_warps(p)
  local sm = p.sm or CPU_RUNS
  local reason = ("tensor cores multiply no %s"):format(p.a)
  for _, r in ipairs(atoms) do
    if r.a == p.a and r.b == p.b and r.sm > sm then
      reason = ("%s needs sm_%d, and this is sm_%d"):format(r.name, r.sm, sm)
    elseif r.a == p.a and r.b == p.b then
      local atom = atom(r.name)
      local why, warps = why_not(p, atom)
      if warps then return with_atom(p, atom, warps, "the widest that fits") end
      reason = r.name .. " " .. why
    end
  end
  return nil, reason
end

-- The most of p's threads, fewer than all, for which `by` finds something, by steps of `step`.
local function with_fewer(p, step, by)
  for n = (p.threads - 1) // step * step, step, -step do
    local chosen = by(setmetatable({ threads = n }, { __index = p }))
    if chosen then
      chosen.threads = n
      return chosen
    end
  end
end

-- All threads cannot share the product, for the reason given: some of them are idle, unless the
-- caller says how warps lie.
local function with_idle(p, why, reason)
  if p.warps then fail(p.op, "%s", why) end
  local is_whole = p.threads % WARP == 0
  local chosen = is_whole and with_fewer(p, WARP, p.atom and by_hand or by_warps)
  if not chosen and not p.atom then
    chosen = with_fewer(p, 1, function(q) return plain(q, reason) end)
  end
  return chosen or fail(p.op, "%s", why)
end

-- What dot multiplies the problem p by: {mma =, sum = the type of sums, why =, warps = {m, n},
-- threads = how many share it, if not all do}.
local function choose(p)
  if p.wgmma and not p.atom then return by_groups(p) end
  if p.atom then
    local chosen, why = by_hand(p)
    return chosen or with_idle(p, why)
  end
  local chosen, reason = by_warps(p)
  if chosen then return chosen end
  local why
  chosen, why = plain(p, reason)
  return chosen or with_idle(p, why, reason)
end

M.choose = static_fn(choose)

-- {====== From memory to registers ======

-- Do the integers of a mode lie at multiples of n? The first of a run of n: at 1, n of them.
local function lies(shape, stride, n, is_run)
  if type(shape) == "table" then
    for i = 1, #shape do
      if not lies(shape[i], stride[i], n, is_run and i == 1) then return false end
    end
    return true
  end
  local is_static = internal.kernel.is_static
  if not is_static(shape) or not is_static(stride) then return false end
  if is_run then return stride == 1 and shape % n == 0 end
  return shape == 1 or stride % n == 0
end

-- Do runs of n elements lie together along a mode, and all else at multiples of n?
local function has_runs(l, swizzle, along, n)
  if swizzle and 1 << swizzle.base < n then return false end
  for i = 0, rank(l) - 1 do
    local m = coalesce(get_mode(l, i))
    if not lies(m.shape, m.stride, n, i == along) then return false end
  end
  return true
end

-- The widest ldmatrix of what a thread gets in a step: 4, 2 or 1 matrices.
local function widest(layout_tv, bits)
  local words = size(layout_tv, 1) * bits // 32
  for _, n in ipairs { 4, 2, 1 } do
    if words % n == 0 and words > 0 then return n end
  end
end

-- The name of the copy atom, or nil for plain loads; and why. `space` is where the operand lies.
local function reader_of(mma, name, l, swizzle, dtype, space)
  local bits, family = tiles.width(dtype), mma.atom.family
  local tv = name == "A" and mma:tv_layout_A() or mma:tv_layout_B()
  if mma.atom.spaces[name:lower()] == "shared" then
    return nil, "where it is, in shared memory: wgmma reads it there"
  elseif family == "fma" then
    return nil, "plain loads: each thread reads what it multiplies"
  elseif space ~= "shared" then
    return nil, "plain loads: the tile is not in shared memory"
  elseif bits > 32 then
    return nil, "plain loads: ldmatrix has no elements of 64 bits"
  elseif has_runs(l, swizzle, 1, 128 // bits) then
    local atom = ("SM75_U32x%d_LDSM_N"):format(widest(tv, bits))
    return atom, atom .. ": 16 bytes lie together along K"
  elseif bits == 16 and has_runs(l, swizzle, 0, 8) then
    local atom = ("SM75_U16x%d_LDSM_T"):format(2 * widest(tv, bits))
    return atom, ("%s: 16 bytes lie together along %s"):format(atom, name == "A" and "M" or "N")
  end
  return nil, bits == 16 and "plain loads: 16 bytes lie together along neither mode"
    or "plain loads: 16 bytes do not lie together along K"
end

local function reader(mma, name, l, swizzle, dtype, space)
  local copier, why = reader_of(mma, name, l, swizzle, dtype, space)
  if copier == nil then return nil, why end
  local make = name == "A" and tiled_copy_A or tiled_copy_B
  return make(atom(copier, dtype), mma), why
end

local static_reader = static_fn(reader)

--- How the operand x ("A" or "B") comes to registers: a tiled copy, nil for plain loads; and why.
function M.reader(mma, name, x)
  local swizzle = x.layout.swizzle
  local l = swizzle and x.layout.layout or x.layout
  if not tiles.is_known(stride(l)) then
    return nil, "plain loads: its strides are not known"
  end
  return static_reader(mma, name, l, swizzle, x.dtype, internal.kernel.space_of(x))
end

return M
