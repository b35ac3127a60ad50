-- fuzz_packed.lua: random products with packed weights (docs/matmul.md#weights-of-few-bits), on the
-- device in use, against reference.matmul on the host. Activations and scales are small integers,
-- so that all but numbers of nf4 is exact; scales of f4e2m1 may be powers of two that are far
-- apart. Half of the products are of groups of rows, with a weight each, perhaps by an index.
--   cuttle scripts/fuzz_packed.lua [seconds] [seed]
local packed = require "cuttle.packed_weights"
local formats = require "cuttle.packed_formats"
local seconds, seed = tonumber(arg[1]) or 20, math.tointeger(arg[2]) or 1
local here, sm = zeros(f32, 1).device, device().sm or 90
local UNIT <const> = 64 -- of which K is a multiple

local function one_of(list) return list[math.random(#list)] end
local function chance(n) return math.random(n) == 1 end
local function host(t) return here == "cpu" and t or t:to("cpu") end

local function small(dtype, low, high, rows, columns, groups)
  local n = rows * columns
  local x = reference.cast(rand(i32, n * (groups or 1), low, high):to("cpu"), dtype)
  return view(x:to(here), groups and layout({rows, columns, groups}, {columns, 1, n})
    or row_major{rows, columns})
end

local function group_of(k)
  local groups = { k }
  for bits = 4, 9 do
    if k % (1 << bits) == 0 then groups[#groups + 1] = 1 << bits end
  end
  return one_of(groups)
end

-- A configuration of gemm_packed.lua or, for wgmma, gemm_packed_hopper.lua.
local function config_of(p)
  if p.by_wgmma then
    local config = { groups = math.random(2), columns = one_of{32, 64, 128},
                     stages = math.random(2, 4), depth = one_of{2, 4, 8} }
    if p.T.bits == 8 and chance(3) then config.columns, config.parts = one_of{128, 256}, 2 end
    local steps = cdiv(p.k * p.T.bits, 1024)
    local blocks = one_of{2, 4}
    if p.k * p.T.bits % (2048 * blocks) == 0 and config.columns >= 16 * blocks and chance(2) then
      config.k_blocks, steps = blocks, steps // blocks
    end
    if steps % 4 == 0 and chance(2) then config.turn, config.stages, config.depth = 4, 4, 4 end
    if p.T.bits == 16 and not config.k_blocks and chance(3) then
      config.groups, config.schedule = 2, "ping-pong"
    end
    return config
  end
  local step = p.k % 128 == 0 and one_of{64, 128} or UNIT
  return { strips = one_of{1, 2, 4}, warps = one_of{1, 4, 8}, step = step,
           stages = step == UNIT and one_of{2, 3} or 2, columns = one_of{1, 2} }
end

-- Can wgmma compute it?
local function by_wgmma(p)
  if p.T.bits == 16 then return true end
  local narrow = formats.formats[p.name].narrow
  return p.group > 16 and narrow and narrow[p.T.name]
end

local function gated(v, w) return v + 2 * w end
local function weighted(v, e) return v * e.weights[e.m] end

-- Where the groups of m rows end, and indices of rows; a row in many is -1.
local function lists_of(p)
  local ends, from, to = {}, {}, {}
  for g = 1, p.groups do ends[g] = math.random(0, p.m) end
  table.sort(ends)
  for i = 1, p.m do
    from[i] = chance(9) and -1 or math.random(0, p.rows - 1)
    to[i] = p.adds and math.random(-1, p.m) or p.m - i
  end
  return ends, from, to
end

-- The problem in groups of rows; without names of rows C may be contiguous along M.
local function grouped_problem(p)
  p.groups, p.glu, p.gathers = math.random(40), chance(3), chance(2)
  p.scatters = not p.glu and chance(2)
  p.adds = p.scatters and chance(2)
  p.rows = p.gathers and math.random(40) or p.m
  p.n = p.by_wgmma and 16 * math.random(12) or 2 * p.n
  local columns, dtype = p.glu and p.n // 2 or p.n, p.by_wgmma and p.out or one_of{f32, p.out}
  if p.adds then dtype = f32 end
  p.C = full(dtype, (p.by_wgmma or p.glu or p.scatters or chance(2)) and row_major{p.m, columns}
    or layout{p.m, columns}, 7)
  p.ends, p.from, p.to = lists_of(p)
  local index = p.scatters and from_table(i32, p.to):to(here) or nil
  p.how = { alpha = one_of{1.0, 0.5}, groups = from_table(i32, p.ends):to(here), glu = p.glu or nil,
            gather = p.gathers and from_table(i32, p.from):to(here) or nil,
            scatter = p.adds and {index, "add"} or index,
            operands = {weights = full(f32, p.m, 2)}, epilogue = p.glu and gated or weighted,
            config = (p.by_wgmma or chance(2)) and config_of(p) or nil }
  if p.by_wgmma then p.how.config.k_blocks = nil end
  return p
end

local function random_problem()
  local p = { name = one_of{"u4", "u8", "f4e2m1", "f8e4m3", "nf4"},
              T = one_of{f16, bf16, f8e4m3, i8},
              k = UNIT * math.random(9), n = math.random(150), m = math.random(70) }
  p.group = group_of(p.k)
  p.out = p.T.bits == 8 and bf16 or p.T
  p.by_wgmma = sm == 90 and by_wgmma(p) and chance(2)
  if p.by_wgmma then p.n, p.m = 8 * math.random(20), math.random(150) end
  p.S = p.by_wgmma and p.out == p.T and p.T or one_of{f16, bf16, f32, f8ue4m3}
  local is_wide = p.name == "f4e2m1" and p.out ~= f16
  p.powers = is_wide and one_of{0, 2, 6, p.S == f8ue4m3 and 8 or 12} or 0
  p.has_zeros = formats.formats[p.name].is_integer and chance(2)
  p.zeros_below = p.name == "u4" and not (p.by_wgmma and p.T == f8e4m3) and one_of{16, 17, 33}
    or 1 << formats.formats[p.name].bits
  if chance(2) then return grouped_problem(p) end
  p.C = full(p.by_wgmma and p.out or one_of{f32, p.out},
    (p.by_wgmma or chance(2)) and row_major{p.m, p.n} or layout{p.m, p.n}, 7)
  p.how = { alpha = one_of{1.0, 0.5}, beta = p.by_wgmma and 0.0 or one_of{0.0, 1.0},
            bias = chance(2) and ones(f32, p.n) or nil,
            scale_a = chance(2) and full(f32, p.m, 2) or nil,
            config = (p.by_wgmma or chance(2)) and config_of(p) or nil }
  return p
end

-- Scales 1 and 2, or powers of two.
local function scales_of(p, ...)
  if p.powers == 0 then return small(p.S, 1, 3, ...) end
  local numbers = host(small(f32, 0, p.powers + 1, ...))
  for i = 0, size(numbers) - 1 do numbers[i] = 2.0 ^ numbers[i] end
  return view(reference.cast(numbers, p.S):to(here), numbers.layout)
end

local function multiply(p)
  local last = 1 << formats.formats[p.name].bits
  local of = { p.n, p.k // p.group, p.groups }
  p.w = packed.pack_weights(small(u8, 0, last, p.n, p.k, p.groups), { type = p.name,
    scales = scales_of(p, of[1], of[2], of[3]),
    zero_points = p.has_zeros and small(u8, 0, p.zeros_below, of[1], of[2], of[3]) or nil })
  p.X = small(p.T, -1, 2, p.rows or p.m, p.k)
  matmul(p.X, p.w, p.C, p.how)
end

-- How far apart a result may be: a sum of nf4 has rounded numbers, one of f8e4m3 more bits than the
-- sums of tensor cores, and C may be rounded. Products of 8 bits whose numbers have scales are of
-- such a sum where they are small beside others.
local function bound(p, v)
  if p.powers > 0 and p.T == f8e4m3 then return 2.0 ^ p.powers * p.k / 128 + 0.01 * math.abs(v) end
  if p.name == "f8e4m3" then return 2.0 + 0.01 * math.abs(v) end
  if p.name == "nf4" then return 0.1 * p.k ^ 0.5 + 0.01 * math.abs(v) end
  return p.C.dtype == f32 and 0 or 0.01 * math.abs(v)
end

local function differs(p, got, v)
  local apart = math.abs(got - v)
  return apart > bound(p, v) or apart ~= apart
end

local function wide(t) return reference.cast(host(t), f64) end

-- The elements of C (M,N) in groups, by their number, where they are not 7.
local function expected_of_groups(p)
  local X, W, want, products, g = wide(p.X), wide(p.w:dequantize(p.out)), {}, {}, 1
  local columns = size(p.C, 1)
  for i = 1, p.ends[p.groups] do
    while i > p.ends[g] do g = g + 1 end
    products[g] = products[g] or reference.matmul(X, W(_, _, g - 1))
    local from, to = p.gathers and p.from[i] or i - 1, p.scatters and p.to[i] or i - 1
    for j = 0, to >= 0 and to < p.m and columns - 1 or -1 do
      local v, at = 0, to * columns + j
      if from >= 0 then
        v = p.glu and products[g][{from, 2 * j}] + 2 * products[g][{from, 2 * j + 1}]
          or 2 * products[g][{from, j}]
      end
      want[at] = (p.adds and want[at] or p.adds and 7 or 0) + p.how.alpha * v
    end
  end
  return want
end

local function n_wrong_of_groups(p)
  local want, got, wrong = expected_of_groups(p), host(p.C), 0
  for i = 0, size(got, 0) - 1 do
    for j = 0, size(got, 1) - 1 do
      local v = want[i * size(got, 1) + j] or 7
      if differs(p, got[{i, j}], v) then wrong = wrong + 1 end
    end
  end
  return wrong
end

local function n_wrong(p)
  if p.groups then return n_wrong_of_groups(p) end
  local want, got, wrong = reference.matmul(wide(p.X), wide(p.w:dequantize(p.out))), host(p.C), 0
  for i = 0, p.m - 1 do
    for j = 0, p.n - 1 do
      local factor = p.how.alpha * (p.how.scale_a and 2 or 1)
      local v = factor * want[{i, j}] + 7 * p.how.beta + (p.how.bias and 1 or 0)
      if differs(p, got[{i, j}], v) then wrong = wrong + 1 end
    end
  end
  return wrong
end

local function text_of(p)
  local words = {}
  for key, value in pairs(p.how.config or {}) do words[#words + 1] = key .. " " .. value end
  table.sort(words)
  return ("%s %s, scales %s of %d up to 2^%d, zeros %s, %dx%dx%d, C %s %s, "
    .. "alpha %g, beta %g%s%s; %s"):format(
    p.name, p.T, p.S, p.group, p.powers, p.has_zeros, p.m, p.n, p.k, p.C.dtype, p.C.layout,
    p.how.alpha,
    p.how.beta or 0, p.how.scale_a and ", scaled" or "", p.groups
      and (", %d groups, glu %s, gathers %s, scatters %s, adds %s"):format(p.groups, p.glu,
      p.gathers, p.scatters, p.adds) or "", table.concat(words, ", "))
end

math.randomseed(seed)
local ends, n, n_bad, n_large = os.time() + seconds, 0, 0, 0
repeat
  local p = random_problem()
  local ok, why = pcall(multiply, p)
  local wrong = ok and n_wrong(p) or 0
  n = n + 1
  if not ok and why:find("make a tile smaller", 1, true) then
    n_large = n_large + 1
  elseif not ok or wrong > 0 then
    n_bad = n_bad + 1
    print(("%s: %s"):format(text_of(p), ok and wrong .. " wrong" or why))
  end
until os.time() >= ends
print(("%d products, seed %d: %d are wrong, %d are too large for the device's shared memory")
  :format(n, seed, n_bad, n_large))
if n_bad > 0 then os.exit(1, true) end
