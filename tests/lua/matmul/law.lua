-- matmul on random problems against products in double precision: sizes from 0 on, every majorness,
-- parts of larger matrices, batches (some broadcast), alpha, beta, bias, epilogues, types. Elements
-- are small integers, so that all sums are exact and every result is one number, rounded once.
package.path = "scripts/bench/?.lua;" .. package.path
local measured = require "configs"
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local below = math.random
math.randomseed(tonumber(arg[2] or 20261122))

local here = zeros(f32, 1).device

-- n small integers of any type, on the device.
local function small(dtype, n, lo)
  return reference.cast(rand(i32, n, lo, 3):to("cpu"), dtype):to(here)
end

local function one_of(list) return list[below(#list)] end

-- A tensor of the shape with its modes in some order in memory, perhaps with gaps; and the buffer.
local function strided(dtype, shape, may_broadcast)
  local order = one_of{ { 1, 2, 3 }, { 2, 1, 3 }, { 1, 3, 2 }, { 2, 3, 1 }, { 3, 1, 2 } }
  local stride, at = {}, 1
  for _, i in ipairs(order) do
    if shape[i] then
      stride[i] = at
      at = at * (shape[i] + one_of{ 0, 0, 0, 1, 4 })
    end
  end
  if may_broadcast and shape[3] and below(4) == 1 then stride[3] = 0 end
  local whole = small(dtype, at + 8, (dtype == u8 or dtype == u32) and 0 or -3)
  return view(whole, layout(shape, stride)), whole
end

local function widened(t) return reference.cast(t, f64) end

local function batch(t, l)
  if rank(t) == 2 then return t end
  return t(_, _, size(t, 2) == 1 and 0 or l)
end

local epilogues = {
  { f = function(v, m, n, l) return v + m - 2 * n + l end,
    on_host = function(v, m, n, l) return v + m - 2 * n + l end },
  { f = function(v) return max(v, 0) end, on_host = function(v) return math.max(v, 0) end },
  { f = function(v, m, n, l, x, factor) return factor * v + x[m] end,
    on_host = function(v, m, n, l, x, factor) return factor * v + x[m] end,
    operands = function(dtype, m) return { small(dtype, m + 1, -3), 2 } end },
}

local function expected(p, i, j, l, sum)
  local v = p.alpha * sum + (p.beta ~= 0 and p.beta * p.before[l][{ i, j }] or 0)
  if p.bias then v = v + (rank(p.bias) == 1 and p.bias[j] or p.bias[{ i, j }]) end
  if p.epilogue then v = p.epilogue.on_host(v, i, j, l, table.unpack(p.operands)) end
  return v
end

-- The names of types of A and B, and those that C may have.
local types = {
  { f32, { f32, f64, f16 } }, { f32, { f32 } }, { f64, { f64, f32 } }, { f16, { f16, f32 } },
  { bf16, { f32, bf16 } }, { tf32, { f32 } }, { f8e4m3, { f32, f16 } }, { i8, { i32, f32 } },
  { u8, { i32 } }, { i32, { i32, i64 } }, { i64, { i64 } },
}

-- Those for GPUs, too, on the CPU engine: it runs them all.
local function possible(p)
  local of, rows = operator.problem(p.A, p.B, p.C), {}
  for _, row in ipairs(measured.all) do
    if configs.can_compute(row, of) and (row.device == "cuda" or here == "cpu") then
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function random_problem()
  local row = one_of(types)
  local dtype, out = row[1], one_of(row[2])
  local function extent()
    return one_of{ 0, 1, 1, below(9), below(40), below(70), 64, 16, 33, 32, 128 }
  end
  local m, n, k = extent(), extent(), extent()
  local l = below(4) == 1 and below(0, 3) or nil
  if m * n > 2000 and l then l = 2 end
  local p = { dtype = dtype, out = out, m = m, n = n, k = k, l = l }
  p.A = strided(dtype, { m, k, below(3) > 1 and l or nil }, true)
  p.B = strided(dtype, { n, k, (rank(p.A) == 2 or below(3) > 1) and l or nil }, true)
  p.C, p.around = strided(out, { m, n, l })
  p.alpha, p.beta = one_of{ 1, 1, 2, -1 }, one_of{ 0, 0, 1, 2 }
  p.epilogue = below(3) == 1 and one_of(epilogues) or nil
  p.operands = p.epilogue and p.epilogue.operands and p.epilogue.operands(out, m) or {}
  if below(4) == 1 then
    p.bias = below(2) == 1 and small(out, n, -3)
      or (strided(out, { m, n }))
  end
  p.config = below(2) == 1 and one_of(possible(p)).name or nil
  p.split = not l and below(4) == 1 and one_of{ 2, 3, 4 } or nil
  if p.split and k % p.split ~= 0 then p.split = nil end
  return p
end

-- Elements of C's buffer that are not C's: how many, and their sum.
local function rest_of(p)
  local mine, n, sum = {}, 0, 0
  for i = 0, size(p.C) - 1 do mine[p.C.layout(i)] = true end
  for i = 0, size(p.around) - 1 do
    if not mine[i] then n, sum = n + 1, sum + p.around[i] end
  end
  return n, sum
end

local function describe(p)
  return ("%s: A %s %s B %s C %s %s alpha %s beta %s%s%s split %s"):format(
    p.config or "chosen", p.dtype, p.A.layout, p.B.layout, p.out, p.C.layout,
    p.alpha, p.beta, p.bias and " bias" or "", p.epilogue and " epilogue" or "", p.split)
end

local function rounded(v, dtype)
  return reference.cast(from_table(f64, { v }), dtype)[0]
end

local function wrong_element(p)
  for l = 0, (p.l or 1) - 1 do
    local R = reference.matmul(widened(batch(p.A, l)), widened(batch(p.B, l)))
    local C = batch(p.C, l)
    for i = 0, p.m - 1 do
      for j = 0, p.n - 1 do
        local want = expected(p, i, j, l, R[{ i, j }])
        if C[{ i, j }] ~= want and C[{ i, j }] ~= rounded(want, p.out) then
          return ("(%d,%d,%d) is %s, expected %s"):format(i, j, l, C[{ i, j }], want)
        end
      end
    end
  end
end

local function check(p)
  p.before = {}
  for l = 0, (p.l or 1) - 1 do
    if p.m * p.n > 0 then p.before[l] = widened(batch(p.C, l)) end
  end
  local n, sum = rest_of(p)
  local result = matmul(p.A, p.B, p.C, { alpha = p.alpha, beta = p.beta, bias = p.bias,
    config = p.config and measured.by_name(p.config), split = p.split,
    epilogue = p.epilogue and p.epilogue.f, operands = p.epilogue and p.operands or nil })
  local n_after, sum_after = rest_of(p)
  local wrong = result ~= p.C and "the result is not C"
    or (n ~= n_after or sum ~= sum_after) and "written outside" or wrong_element(p)
  if wrong then print(describe(p) .. ": " .. wrong) end
end

local n_problems = tonumber(arg[1] or here == "cpu" and 150 or 60) -- on a GPU each is compiled
for _ = 1, n_problems do check(random_problem()) end
print("done")  -- expect: done
