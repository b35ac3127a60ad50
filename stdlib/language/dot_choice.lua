-- dot_choice.lua: what dot takes for a product of tiles: the atom, by types, target and extents; how
-- the warps of the block share the tile; and how an operand comes from memory to registers.
local ct = require "cuttle"
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local WARP <const> = 32
local fail = tiles.fail

-- From which compute capability on, widest first. Products that no row takes are plain FMAs.
local atoms <const> = {
  { type = "f16", sm = 80, name = "SM80_16x8x16_F32F16F16F32_TN" },
  { type = "f16", sm = 80, name = "SM80_16x8x8_F32F16F16F32_TN" },
  { type = "f16", sm = 75, name = "SM75_16x8x8_F32F16F16F32_TN" },
  { type = "bf16", sm = 80, name = "SM80_16x8x16_F32BF16BF16F32_TN" },
  { type = "bf16", sm = 80, name = "SM80_16x8x8_F32BF16BF16F32_TN" },
  { type = "tf32", sm = 80, name = "SM80_16x8x8_F32TF32TF32F32_TN" },
  { type = "tf32", sm = 80, name = "SM80_16x8x4_F32TF32TF32F32_TN" },
  { type = "i8", sm = 80, name = "SM80_16x8x32_S32S8S8S32_TN" },
  { type = "i8", sm = 80, name = "SM80_16x8x16_S32S8S8S32_TN" },
  { type = "i8", sm = 75, name = "SM75_8x8x16_S32S8S8S32_TN" },
  { type = "u8", sm = 80, name = "SM80_16x8x32_S32U8U8S32_TN" },
  { type = "u8", sm = 80, name = "SM80_16x8x16_S32U8U8S32_TN" },
  { type = "f64", sm = 80, name = "SM80_8x8x4_F64F64F64F64_TN" },
}

-- The type that plain FMAs add up in.
local function plain_sum(dtype)
  if dtype == ct.f64 then return ct.f64 end
  local integers = { i8 = true, u8 = true, i16 = true, u16 = true, i32 = true }
  return integers[dtype.name] and ct.i32 or ct.f32
end

-- {====== The target and the threads ======

local CPU_RUNS <const> = 90 -- the CPU engine computes every atom

local function target()
  return internal.emit_sm() or ct.device().sm or CPU_RUNS
end

-- The threads that share the product: those of the block, or as many as `options` say.
function M.n_threads(options, op)
  local dim = ct.blockDim
  local block = { x = ct.static(dim.x), y = ct.static(dim.y), z = ct.static(dim.z) }
  if block.y > 1 or block.z > 1 then
    fail(op, "the block is %d x %d x %d; its threads must have one mode, as with block = %d",
      block.x, block.y, block.z, block.x * block.y * block.z)
  end
  local n = options.threads or block.x
  if n > block.x then
    fail(op, "threads = %d, but the block has %d; launch it with block = %d", n, block.x, n)
  end
  return n
end

-- {====== Warps and threads over the tile ======

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

local function warps_over(p, shape)
  local function fits(m, n)
    return p.M % (shape[1] * m) == 0 and p.N % (shape[2] * n) == 0
  end
  if p.warps then return fits(p.warps[1], p.warps[2]) and p.warps or nil end
  return least_pair(p, p.threads // WARP, fits)
end

-- 16 columns at a step where there are as many, so one ldmatrix brings two atoms of B.
local function tiled(p, atom, warps)
  local m, n, k = atom.shape[1] * warps[1], atom.shape[2] * warps[2], atom.shape[3]
  if p.N % (2 * n) == 0 then n = 2 * n end
  return ct.tiled_mma(atom, ct.layout({ warps[1], warps[2], 1 }), { m, n, k })
end

-- {====== Atoms ======

-- Why the atom does not fit, or how the warps share the tile.
local function why_not(p, atom)
  local shape = atom.shape
  if p.M % shape[1] ~= 0 or p.N % shape[2] ~= 0 or p.K % shape[3] ~= 0 then
    return ("does not divide (M,N,K) = (%d,%d,%d)"):format(p.M, p.N, p.K)
  elseif p.threads % WARP ~= 0 then
    return ("needs whole warps, and there are %d threads"):format(p.threads)
  end
  local warps = warps_over(p, shape)
  if warps then return nil, warps end
  return p.warps and ("warps = {%d, %d} of it do not divide M = %d and N = %d"):format(p.warps[1],
    p.warps[2], p.M, p.N)
    or ("%d warps of it do not divide M = %d and N = %d"):format(p.threads // WARP, p.M, p.N)
end

local function with_atom(p, atom, warps, why)
  return { mma = tiled(p, atom, warps), sum = atom.dtypes.d, warps = warps, why = why }
end

local function by_hand(p)
  local atom = tiles.to_atom(p.atom, "mma", p.op)
  if atom.family == "fma" or atom.family == "wgmma" then
    fail(p.op, "%s is no atom of a warp; take one of mma.sync, such as %s, or leave atom out",
      atom.name, atoms[1].name)
  end
  local why, warps = why_not(p, atom)
  if why then
    fail(p.op, "%s %s; take other extents or another atom", atom.name, why)
  end
  return with_atom(p, atom, warps, "as options.atom says")
end

-- Threads side by side, each with plain FMAs.
local function plain(p, why)
  local sum = plain_sum(p.dtype)
  local threads = least_pair(p, p.threads, function(m, n) return p.M % m == 0 and p.N % n == 0 end)
  if threads == nil or p.warps then
    fail(p.op, "no atom divides the product (M,N,K) = (%d,%d,%d) of %s over %d threads: %s; take "
      .. "extents that are multiples of 16, 8 and 16, or other threads", p.M, p.N, p.K,
      p.dtype, p.threads, why)
  end
  local over = ct.layout({ threads[1], threads[2], 1 }, { threads[2], 1, 0 })
  return { mma = ct.tiled_mma(("UniversalFMA<%s>"):format(sum), over), sum = sum, why = why }
end

-- What dot multiplies the problem p by: {mma =, sum = the type of sums, why =}.
local function choose(p)
  if p.atom then return by_hand(p) end
  local sm, reasons = target(), {}
  for _, row in ipairs(atoms) do
    if row.type == p.dtype.name then
      if row.sm > sm then
        reasons[#reasons + 1] = ("%s needs sm_%d, and this is sm_%d"):format(row.name, row.sm, sm)
      else
        local atom = ct.atom(row.name)
        local why, warps = why_not(p, atom)
        if warps then return with_atom(p, atom, warps, "the widest that fits") end
        reasons[#reasons + 1] = row.name .. " " .. why
      end
    end
  end
  if #reasons == 0 then reasons[1] = ("tensor cores multiply no %s"):format(p.dtype) end
  return plain(p, table.concat(reasons, "; "))
end

M.choose = ct.static_fn(choose) -- plain Lua, so a trace may choose in a loop

-- {====== From memory to registers ======

-- Do the integers of a mode lie at multiples of n? The first of a run of n: at 1, n of them.
local function lies(shape, stride, n, is_run)
  if type(shape) == "table" then
    for i = 1, #shape do
      if not lies(shape[i], stride[i], n, is_run and i == 1) then return false end
    end
    return true
  end
  if not internal.is_static(shape) or not internal.is_static(stride) then return false end
  if is_run then return stride == 1 and shape % n == 0 end
  return shape == 1 or stride % n == 0
end

-- Do runs of n elements lie together along a mode, and all else at multiples of n?
local function has_runs(layout, mode, n)
  local swizzle = layout.swizzle
  if swizzle and 1 << swizzle.base < n then return false end
  local l = swizzle and layout.layout or layout
  for i = 0, ct.rank(l) - 1 do
    local m = ct.mode(l, i)
    if not lies(m.shape, m.stride, n, i == mode) then return false end
  end
  return true
end

-- The widest ldmatrix of what a thread gets in a step: 4, 2 or 1 matrices.
local function widest(layout_tv, bits, names)
  local words = ct.size(layout_tv, 1) * bits // 32
  for _, n in ipairs { 4, 2, 1 } do
    if words % n == 0 and words > 0 then return names:format(names:find("U16") and 2 * n or n) end
  end
end

-- How the operand ("A" or "B") comes to registers: a tiled copy, or nil for plain loads; and why.
function M.reader(mma, name, x)
  if mma.atom.family == "fma" then return nil, "plain loads: each thread reads what it multiplies" end
  if not tostring(x):find("in shared memory", 1, true) then
    return nil, "plain loads: the tile is not in shared memory"
  end
  local bits = x.dtype.bits
  if bits > 32 then return nil, "plain loads: ldmatrix has no elements of 64 bits" end
  local tv = name == "A" and mma:get_layoutA_TV() or mma:get_layoutB_TV()
  local tiled_copy = name == "A" and ct.tiled_copy_A or ct.tiled_copy_B
  if has_runs(x.layout, 1, 128 // bits) then
    local atom = widest(tv, bits, "SM75_U32x%d_LDSM_N")
    return tiled_copy(ct.atom(atom, x.dtype), mma), atom .. ": 16 bytes lie together along K"
  elseif bits == 16 and has_runs(x.layout, 0, 8) then
    local atom = widest(tv, bits, "SM75_U16x%d_LDSM_T")
    return tiled_copy(ct.atom(atom, x.dtype), mma),
      ("%s: 16 bytes lie together along %s"):format(atom, name == "A" and "M" or "N")
  end
  return nil, bits == 16 and "plain loads: 16 bytes lie together along neither mode"
    or "plain loads: 16 bytes do not lie together along K"
end

return M
