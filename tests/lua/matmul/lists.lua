-- Products of lists of tensors by one launch, against reference.matmul of each: of any extents, some
-- of one row or none, in any strides that are alike; with alpha, beta, an epilogue and its operands;
-- prepared, and with new results.
local operator = require "cuttle.matmul"
local here, sm = zeros(f32, 1).device, device().sm

local function small(dtype, l)
  return view(reference.cast(rand(i32, cosize(l), -2, 3):to("cpu"), dtype):to(here), l)
end

local sizes <const> = { {70, 40, 48}, {5, 130, 64}, {64, 64, 128}, {1, 1, 16}, {0, 7, 16},
                        {1, 90, 32}, {33, 1, 80} }

local function check(dtype, config, by_rows, more)
  local order = by_rows and row_major or function(of) return layout(of) end
  local A, B, C = {}, {}, {}
  local list = table.move(sizes, 1, #sizes, 1, {})
  list[#list + 1] = more
  for g, s in ipairs(list) do
    local m, n, k = table.unpack(s)
    A[g], B[g] = small(dtype, order{m, k}), small(dtype, row_major{n, k})
    C[g] = full(dtype == i8 and i32 or f32, order{m, n}, 3):to(here)
  end
  matmul(A, B, C, {alpha = 2, beta = 1, config = config, operands = {shift = 5.0},
    epilogue = function(v, e) return v + e.m - e.n + 10 * e.l + e.shift end})
  local wrong, before = 0, 0 -- products without elements have no number
  for g, s in ipairs(list) do
    local m, n, k = table.unpack(s)
    local a, b = reference.cast(A[g], f32), reference.cast(B[g], f32)
    local R = k > 0 and reference.matmul(a, b):to("cpu")
    local got = C[g]:to("cpu")
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local want = 2 * (R and R[{i, j}] or 0) + 3 + i - j + 10 * before + 5
        wrong = wrong + (got[{i, j}] == want and 0 or 1)
      end
    end
    before = before + (m * n > 0 and 1 or 0)
  end
  if wrong > 0 then print(dtype, config, by_rows, wrong) end
end

local configs = { {f32}, {f32, "simt 64x64x16 turned"}, {bf16, "mma 64x64x64"},
                  {f16, "mma 128x64x64"}, {i8, "mma 64x64x128"} }
for i, case in ipairs(configs) do
  check(case[1], case[2], true)
  check(case[1], case[2], i == 1)
end
check(f32, nil, true, {20, 20, 0})
print "lists"                                                     -- expect: lists

local A, B = { small(bf16, row_major{9, 64}), small(bf16, row_major{20, 32}) },
  { small(bf16, row_major{16, 64}), small(bf16, row_major{24, 32}) }
local made = matmul(A, B)
local C = { zeros(bf16, row_major{9, 16}):to(here), zeros(bf16, row_major{20, 24}):to(here) }
local launch, name, steps = operator.prepare(A, B, C)
launch()
launch()
print(made[2].layout, #steps, name:find(sm and "mma" or "cpu") ~= nil) -- expect: (20,24):(1,20)	1	true
for g = 1, 2 do print(allclose(C[g], made[g], {rtol = 0, atol = 0})) end
-- expect: true
-- expect: true
print(#matmul({zeros(f32, {0, 4})}, {zeros(f32, {3, 4})}))             -- expect: 1
