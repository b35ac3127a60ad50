-- fuzz_products.lua: random products of matmul with scales, outputs, reductions and glu, and of
-- groups whose rows are gathered and scattered, on the device in use, against plain loops over
-- reference.matmul on the host. Elements are small integers and scales powers of two, so that all
-- but sums of rows is exact.
--   cuttle scripts/fuzz_products.lua [seconds] [seed]
local seconds, seed = tonumber(arg[1]) or 20, math.tointeger(arg[2]) or 1
local BLOCK <const> = 128

local types <const> = { "f8e4m3", "f16", "f32", "tf32" }
local configs <const> = {
  f8e4m3 = { "mma 64x64x128, f8", "hopper 64x64x128, scaled", "hopper 128x128x128, scaled",
             "hopper 128x256x128, scaled", "hopper 256x128x128, scaled",
             "hopper 128x128x128", "hopper 128x128x128, across", "hopper 128x256x128",
             "hopper 256x128x128, transposed first" },
  f16 = { "mma 64x64x64", "hopper 64x64x64", "hopper 128x128x64", "hopper 16x64x64" },
  f32 = { "simt 64x64x16 turned", "dots 32x32x32" },
  tf32 = { "mma 64x64x32", "hopper 64x64x32", "hopper 64x64x32, across", "hopper 64x128x32",
           "hopper 128x128x32", "hopper 256x128x32, transposed first" },
}
local here = zeros(f32, 1).device

local function one_of(list) return list[math.random(#list)] end
local function chance(n) return math.random(n) == 1 end

local function small(dtype, rows, columns)
  local x = reference.cast(rand(i32, rows * columns, -2, 3):to("cpu"), dtype)
  return view(x:to(here), chance(2) and row_major{rows, columns} or layout{rows, columns})
end

-- Scales of all, rows or blocks of an operand, and a function of an element's place: its scale.
local function scale(name, rows, k)
  local deep = cdiv(k, BLOCK)
  local kinds = { {1, 1}, {rows, 1}, {rows, deep}, {cdiv(rows, BLOCK), deep} }
  local extents = kinds[math.random(0, name == "f8e4m3" and 4 or 2)]
  if not extents then
    local value = one_of{0.5, 1.0, 2.0}
    return value, function() return value end
  end
  local x = zeros(f32, extents):to("cpu")
  for i = 0, size(x) - 1 do x[i] = one_of{0.5, 1.0, 2.0} end
  return x:to(here), function(i, q)
    local row = extents[1] == rows and i or extents[1] > 1 and i // BLOCK or 0
    return x[{row, extents[2] > 1 and q // BLOCK or 0}]
  end
end

-- An operand times its scales, on the host.
local function scaled(x, at)
  local host = reference.cast(x, f32):to("cpu")
  for i = 0, size(host, 0) - 1 do
    for q = 0, size(host, 1) - 1 do host[{i, q}] = host[{i, q}] * at(i, q) end
  end
  return host
end

local function rounded(v) return (string.unpack("f", string.pack("f", v))) end -- to f32

local function random_problem()
  local name = one_of(types)
  local m, n, k = math.random(90), math.random(90), math.random(280)
  if name == "f8e4m3" and chance(4) then k = k + 128 * math.random(12) end
  if name == "f8e4m3" and chance(8) then
    m, n = m + 16 * math.random(40), n + 16 * math.random(40)
  end
  if chance(2) then m, n, k = cdiv(m, 16) * 16, cdiv(n, 16) * 16, cdiv(k, 16) * 16 end
  local glu = chance(3)
  if glu then n = cdiv(n, 2) * 2 end
  local scale_a, a_at = scale(name, m, k)
  local scale_b, b_at = scale(name, n, k)
  return { name = name, m = m, n = n, k = k, glu = glu, columns = glu and n // 2 or n,
           config = not chance(3) and one_of(configs[name]) or nil, a_at = a_at, b_at = b_at,
           scale_a = scale_a, scale_b = scale_b, by_rows = glu or chance(2) }
end

local function ending(v, e)
  e.pre, e.sums, e.tops = v, v, v
  return v + e.one
end
local function gated(v, w, e) return ending(v * w, e) end

local function multiply(p)
  local dtype, extents = require "cuttle"[p.name], {p.m, p.columns}
  p.A, p.B = small(dtype, p.m, p.k), small(dtype, p.n, p.k)
  p.C = zeros(f32, p.by_rows and row_major{p.m, p.columns} or layout(extents))
  p.pre, p.sums, p.tops = zeros(f32, extents), zeros(f32, p.m), zeros(f32, p.columns)
  return pcall(matmul, p.A, p.B, p.C, { config = p.config, blocks = math.random(3),
    scale_a = p.scale_a, scale_b = p.scale_b, glu = p.glu, operands = { one = 1.0 },
    outputs = { pre = p.pre, sums = { p.sums, "row_sum" }, tops = { p.tops, "column_max" } },
    epilogue = p.glu and gated or ending })
end

-- How many results are wrong.
local function count_wrong(p)
  local R = reference.matmul(scaled(p.A, p.a_at), scaled(p.B, p.b_at)):to("cpu")
  local C, pre, sums, tops = p.C:to("cpu"), p.pre:to("cpu"), p.sums:to("cpu"), p.tops:to("cpu")
  local wrong, top = 0, {}
  local function expect(is_right) wrong = wrong + (is_right and 0 or 1) end
  local function made(i, j)
    return p.glu and rounded(R[{i, 2 * j}] * R[{i, 2 * j + 1}]) or R[{i, j}]
  end
  for i = 0, p.m - 1 do
    local sum = 0
    for j = 0, p.columns - 1 do
      local v = made(i, j)
      sum, top[j] = sum + v, math.max(top[j] or -math.huge, v)
      expect(pre[{i, j}] == v and C[{i, j}] == rounded(v + 1))
    end
    expect(math.abs(sums[i] - sum) <= 1e-4 * math.max(1, math.abs(sum)))
  end
  for j = 0, p.columns - 1 do expect(tops[j] == top[j]) end
  return wrong
end

-- {====== Groups whose rows are by an index ======

local grouped_configs <const> = {
  f16 = { "mma 64x64x64", "mma 128x64x64", "hopper 128x128x64, gather", "hopper 256x128x64, gather",
          "hopper 64x64x64", "hopper 128x128x64", "hopper 256x128x64", "hopper 192x128x64" },
  f32 = { "simt 64x64x16 turned", "simple 64x64x16", "cpu 32x32x8" },
}

local function weighted(v, e) return v * e.weights[e.m] end
local function paired(v, w, e) return (v + 2 * w) * e.weights[e.m] end

local depth_configs <const> = (device().sm or 90) == 90 and
  { "hopper 128x128x64", "hopper 256x128x64", "hopper 64x64x64", "hopper 192x128x64" }
  or { "mma 64x64x64" }

-- n random rows of `of`, some outside if there may be, as a list and a tensor.
local function index(n, of, outside)
  local list = {}
  for i = 1, n do list[i] = outside and chance(20) and one_of { -1, of } or math.random(of) - 1 end
  return list, from_table(i32, list):to(here)
end

local function permutation(n)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  for i = n, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list, from_table(i32, list):to(here)
end

-- Groups of random sizes, some empty, which leave the last rows out.
local function random_groups()
  local p = { name = one_of { "f16", "f16", "f32" }, ends = {}, columns = 16 * math.random(12),
              k = 16 * math.random(18), kind = one_of { "store", "add", "glu", "plain" }, rows = 0 }
  for g = 1, math.random(6) do
    p.rows = p.rows + (chance(4) and 0 or math.random(200))
    p.ends[g] = p.rows
  end
  p.m, p.tokens = p.rows + math.random(5), math.random(120)
  p.n = p.kind == "glu" and 2 * p.columns or p.columns
  p.gathers = p.kind == "glu" or chance(2)
  p.config = not chance(3) and one_of(grouped_configs[p.name]) or nil
  return p
end

-- Groups of K, and what is wrong with their products.
local function random_depths()
  local p = { name = one_of { "f16", "bf16" }, ends = {}, m = 8 * math.random(40),
              n = 8 * math.random(40), k = 0, kind = "groups of K" }
  for g = 1, math.random(6) do
    p.k = p.k + (chance(4) and 0 or math.random(200))
    p.ends[g] = p.k
  end
  p.k = p.k + math.random(5)
  p.config = not chance(3) and one_of(depth_configs) or nil
  return p
end

local function multiply_depths(p)
  local dtype, n_groups = require "cuttle"[p.name], #p.ends
  p.A = select(view(small(dtype, p.k, p.m), row_major{p.k, p.m}), 1, 0)
  p.B = select(view(small(dtype, p.k, p.n), row_major{p.k, p.n}), 1, 0)
  p.ends = from_table(i32, p.ends):to(here)
  p.C = full(f32, layout({p.m, p.n, n_groups}, {p.n, 1, p.m * p.n}), 7):to(here)
  return pcall(matmul, p.A, p.B, p.C, { config = p.config, groups = p.ends })
end

local function count_wrong_depths(p)
  local function wide(t) return reference.cast(t, f32):to("cpu") end
  local R, C = reference.matmul(wide(p.A), wide(p.B), { groups = p.ends:to("cpu") }), p.C:to("cpu")
  local wrong = 0
  for g = 0, size(C, 2) - 1 do
    if reference.difference(C(_, _, g), R(_, _, g):to("cpu")) then wrong = wrong + 1 end
  end
  return wrong
end

local function multiply_groups(p)
  local dtype, g = require "cuttle"[p.name], #p.ends
  local high = p.gathers and p.tokens or p.m
  p.A = view(small(dtype, high, p.k), row_major{high, p.k})
  p.B = view(small(dtype, p.n * g, p.k), layout({p.n, p.k, g}, {p.k, 1, p.n * p.k}))
  local how = { config = p.config, groups = from_table(i32, p.ends):to(here),
                epilogue = p.kind == "glu" and paired or weighted, glu = p.kind == "glu" or nil }
  p.weights = {}
  for i = 1, p.m do p.weights[i] = one_of { 0.5, 1.0, 2.0 } end
  how.operands = { weights = from_table(f32, p.weights):to(here) }
  if p.gathers then p.from, how.gather = index(p.m, p.tokens, true) end
  local rows = p.m
  if p.kind == "store" then p.to, how.scatter = permutation(p.m) end
  if p.kind == "add" then
    rows = math.random(60)
    local to, t = index(p.m, rows, true)
    p.to, how.scatter = to, { t, "add" }
  end
  p.C = zeros(f32, row_major{rows, p.columns}):to(here)
  return pcall(matmul, p.A, p.B, p.C, how)
end

local function count_wrong_groups(p)
  local C, wrong, expected, first = p.C:to("cpu"), 0, {}, 0
  local A, B = reference.cast(p.A, f32):to("cpu"), reference.cast(p.B, f32):to("cpu")
  for g, last in ipairs(p.ends) do
    local R = reference.matmul(A, B(_, _, g - 1)):to("cpu")
    for i = first, last - 1 do
      local from, to = p.from and p.from[i + 1] or i, p.to and p.to[i + 1] or i
      local is_there = from >= 0 and from < size(A, 0)
      for j = 0, p.columns - 1 do
        local v = 0
        if is_there and p.kind == "glu" then
          v = R[{from, 2 * j}] + 2 * R[{from, 2 * j + 1}]
        elseif is_there then
          v = R[{from, j}]
        end
        local at = to * p.columns + j
        expected[at] = (expected[at] or 0) + v * p.weights[i + 1]
      end
    end
    first = last
  end
  for i = 0, size(C, 0) - 1 do
    for j = 0, p.columns - 1 do
      if C[{i, j}] ~= (expected[i * p.columns + j] or 0) then wrong = wrong + 1 end
    end
  end
  return wrong
end

-- {====== All of it ======

local families <const> = {
  { random_problem, multiply, count_wrong }, { random_problem, multiply, count_wrong },
  { random_groups, multiply_groups, count_wrong_groups },
  { random_depths, multiply_depths, count_wrong_depths },
}

math.randomseed(seed)
local n, n_refused, n_bad, began = 0, 0, 0, os.time()
while os.difftime(os.time(), began) < seconds do
  local make, try, count = table.unpack(one_of(families))
  local p = make()
  local ok, why = try(p)
  if not ok and (why:find "is not for this problem" or why:find "take another configuration") then
    n_refused = n_refused + 1
  else
    local wrong = ok and count(p) or why
    n = n + 1
    if wrong ~= 0 then
      n_bad = n_bad + 1
      print(p.name, p.m, p.n, p.k, p.config, p.kind or p.glu, p.gathers or p.by_rows, wrong)
    end
  end
end
print(("%d products, %d wrong; %d configurations were not for theirs"):format(n, n_bad, n_refused))
os.exit(n_bad == 0, true)
