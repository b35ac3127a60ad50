-- Two configurations have one order, as the option `bits` knows it, if and only if same_order says
-- so of their traces; and what a contract chooses does not depend on M, on a GPU that need not be
-- there.
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local law, levels = require "cuttle.matmul_bits", require "cuttle.bits"

-- The orders of all rows that take the problem, from the table and from the trace.
local function orders_of(dtype, a_rows, b_rows, parts)
  local k = 128
  local function operand(by_rows)
    return zeros(dtype, by_rows and row_major{64, k} or layout{64, k}):to("cpu")
  end
  local A, B = operand(a_rows), operand(b_rows)
  local C = zeros(operator.result_type(dtype), {64, 64}):to("cpu")
  local p, out = operator.problem(A, B, C), {}
  for _, row in ipairs(configs.list) do
    if configs.can_compute(row, p) then
      local _, _, steps = operator.prepare(A, B, C, {config = row.name, split = parts})
      local s = operator.main(steps)
      local rank_of_c = rank(s.args[3])
      local at = {5, 6, rank_of_c > 2 and 0 or nil}
      local order = sum_order(s.kernel(s.launch), {C = at}, table.unpack(s.args))
      out[#out + 1] = {name = row.name, known = law.order(row, p, 1, k), traced = order, p = p}
    end
  end
  return out
end

local n_same, n_other = 0, 0
local function compare(dtype, a_rows, b_rows)
  local orders = orders_of(dtype, a_rows, b_rows, 1)
  for i, a in ipairs(orders) do
    for j = 1, i - 1 do
      local known = levels.differ(a.known, orders[j].known) == 0
      local traced = same_order(a.traced, orders[j].traced)
      if known ~= traced then print(dtype, a.name, orders[j].name, known, traced) end
      if known then n_same = n_same + 1 else n_other = n_other + 1 end
    end
    -- A SumOrder is a contract, too, if no slices or parts of K are added.
    local ok, wanted = pcall(law.wanted, a.traced, a.p)
    assert(not ok or levels.differ(a.known, wanted) == 0, a.name)
    assert(ok or a.name:find "slices" or a.name:find "K in 2", wanted)
  end
end
for majors = 0, 3 do
  compare(f32, majors % 2 == 0, majors > 1)
  compare(f16, majors % 2 == 0, majors > 1)
end
compare(tf32, true, true)
compare(f8e4m3, true, true)
compare(f64, true, false)
print(n_same > 100, n_other > 100)  -- expect: true	true

-- The choice on Hopper for M from 1 to 4096. Only the extents are large.
local sizes = {}
for m = 1, 4096 do
  if m < 70 or m % 61 == 0 or m % 64 == 0 or m % 128 == 1 then sizes[#sizes + 1] = m end
end
local function large(dtype, m, n, k, majors, c_by_rows, sm)
  local function operand(by_rows, out)
    return zeros(out or dtype, by_rows and row_major{64, 64} or layout{64, 64}):to("cpu")
  end
  local p = operator.problem(operand(majors < 2), operand(majors % 2 == 0),
    operand(c_by_rows, operator.result_type(dtype)))
  p.m, p.n, p.k = m, n, k
  if p.swapped then p.m, p.n = n, m end
  p.target, p.sm, p.shared, p.n_sms = "cuda", sm, 232448, 132
  local letters = {mn = {mn = "NT", k = "NN"}, k = {mn = "TT", k = "TN"}}
  p.type_name, p.majors = dtype.name, letters[p.a_major][p.b_major]
  return p
end
-- The order with a contract, which is one, and the rows that have it; how many orders there are
-- without one.
local function sweep(dtype, n, k, sm)
  local names, without, first, n_names, n_without = {}, {}, nil, 0, 0
  for i, m in ipairs(sizes) do
    local p = large(dtype, m, n, k, i % 2 * 2, i % 3 > 0, sm)
    local contract = law.contract(p, {bits = "batch_invariant"})
    local fit = p
    if dtype.bits ~= 16 and contract.order[1][2]:find "wgmma" then fit = law.fitted(p, contract) end
    fit.m, fit.n = p.m, p.n
    local row = law.row(fit, contract)
    first = first or levels.text(contract.order)
    assert(levels.text(contract.order) == first and levels.text(law.order(row, p, 1, k)) == first
      and contract.parts == 1, row.name)
    local parts = require "cuttle.gemm_split".parts_on(p, sm, 132)
    without[levels.text(law.order(configs.choose(p), p, parts, k // parts))] = true
    names[row.name] = true
  end
  for _ in pairs(names) do n_names = n_names + 1 end
  for _ in pairs(without) do n_without = n_without + 1 end
  print(dtype, n, k, sm, n_names > 1, n_without > 1, first)
end
sweep(f16, 4096, 4096, 90)
-- expect: f16	4096	4096	90	true	true	instruction wgmma of k = 16, sums f32, zeros after K none, slices 1, splits 1
sweep(bf16, 16, 4096, 90)
-- expect: bf16	16	4096	90	false	true	instruction mma of k = 16, sums f32, zeros after K none, slices 1, splits 1
sweep(f16, 4096, 1000, 80)
-- expect: f16	4096	1000	80	true	false	instruction mma of k = 16, sums f32, zeros after K some, slices 1, splits 1
sweep(tf32, 2048, 4096, 90)
-- expect: tf32	2048	4096	90	true	true	instruction wgmma of k = 8, sums f32, zeros after K none, slices 1, splits 1
sweep(f8e4m3, 2048, 4096, 90)
-- expect: f8e4m3	2048	4096	90	true	true	instruction wgmma of k = 32, sums f32, zeros after K none, slices 1, splits 1
sweep(f32, 4096, 4096, 90)
-- expect: f32	4096	4096	90	true	true	instruction fma, sums f32, zeros after K none, slices 1, splits 1
sweep(f32, 512, 1000, 90)
-- expect: f32	512	1000	90	true	true	instruction fma, sums f32, zeros after K some, slices 1, splits 1
sweep(f32, 512, 512, 75)
-- expect: f32	512	512	75	false	true	instruction fma, sums f32, zeros after K none, slices 1, splits 1

-- Integers need no contract: their sums have the same bits in any order.
local bytes = large(i8, 16, 4096, 4096, 0, true, 90)
print(levels.text(law.contract(bytes, {bits = "batch_invariant", split = 4}).order))
-- expect: sums i32, exact in any order
