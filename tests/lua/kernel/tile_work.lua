-- Work on whole tensors: fill, clear, axpby, gemm, against plain Lua; f32 results are compared bit
-- for bit, with sums rounded as the kernel's fma rounds them.
local sorted = dofile "tests/support/sorted.lua"
local function round(v) return f32(v).value end

-- fill and clear of every space and type
local function filled(dtype, value)
  local t = zeros(dtype, {4, 3})
  kernel(function(t)
    local s, r = shared(dtype, {4, 3}), fragment(dtype, {4})
    fill(r, value)
    fill(s, value)
    clear(tile(s, {4, 1}, {0, 2}))
    copy(r, tile(t, {4, 1}, {0, 0}):view(layout(4)))
    copy(tile(s, {4, 1}, {0, 1}), tile(t, {4, 1}, {0, 1}))
    copy(tile(s, {4, 1}, {0, 2}), tile(t, {4, 1}, {0, 2}))
  end){grid = 1, block = 1}(t)
  print(t[{0, 0}], t[{3, 1}], t[{1, 2}])
end
filled(f32, 1.5)            -- expect: 1.5	1.5	0.0
filled(f64, 0.1)            -- expect: 0.1	0.1	0.0
filled(i32, -7)             -- expect: -7	-7	0
filled(i64, 1 << 40)        -- expect: 1099511627776	1099511627776	0
filled(bool, true)          -- expect: true	true	false

-- A value known only at run time fills, too.
local v = zeros(f32, 8)
kernel("fill_runtime", function(t, x)
  fill(tile(t, 4, threadIdx.x), x + threadIdx.x)
end){grid = 1, block = 2}(v, 0.5)
print(v[3], v[4])           -- expect: 0.5	1.5

-- axpby: y = alpha * x + beta * y, in any pair of spaces.
local x, y = zeros(f32, 6), zeros(f32, 6)
for i = 0, 5 do x[i], y[i] = i + 1, 10 * i end
kernel("axpby", function(x, y, alpha)
  local r = fragment(f32, {3})
  copy(tile(x, 3, threadIdx.x), r)
  axpby(alpha, r, 2.0, tile(y, 3, threadIdx.x))
end){grid = 1, block = 2}(x, y, 0.5)
print(table.concat(y:totable(), " ")) -- expect: 0.5 21.0 41.5 62.0 82.5 103.0

-- A beta of 0, known while tracing or not: y, which holds NaN, is not read.
local nan, out = 0.0 / 0.0, {}
local scaled = kernel("scaled", function(x, h, y, z, alpha, beta)
  axpby(alpha, x, 0, y)
  axpby(alpha, h, beta, tile(z, 3, 0))
  axpby(2, x, beta, tile(z, 3, 1))
end, {static_shapes = true})
for i, beta in ipairs{0.0, 0.5} do
  local one, two = full(f32, 3, nan), full(f32, 6, i == 1 and nan or 8)
  scaled{grid = 1, block = 1}(view(x, 3), full(f16, 3, 3), one, two, -1.0, beta)
  out[i] = table.concat(one:totable(), " ") .. " | " .. table.concat(two:totable(), " ")
end
print(out[1]) -- expect: -1.0 -2.0 -3.0 | -3.0 -3.0 -3.0 2.0 4.0 6.0
print(out[2]) -- expect: -1.0 -2.0 -3.0 | 1.0 1.0 1.0 6.0 8.0 10.0

-- gemm of all ranks, orders and types: C(m,n) += A(m,k) * B(n,k).
local M, N, K <const> = 5, 4, 3
local function operands(dtype)
  local A, B, C = zeros(dtype, {M, K}), zeros(dtype, {N, K}), zeros(dtype, {M, N})
  local function put(t, m, n, f)
    for i = 0, m - 1 do for j = 0, n - 1 do t[{i, j}] = f(i, j) end end
  end
  local scale = dtype == f32 and 0.1 or dtype == f64 and 0.1 or 1
  put(A, M, K, function(i, k) return (i * 7 + k * 3 + 1) * scale end)
  put(B, N, K, function(j, k) return (j * 5 - k * 2 + 2) * scale end)
  put(C, M, N, function(i, j) return (i - j) * scale end)
  return A, B, C
end

local function expected(dtype, A, B, C)
  local want = {}
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      local sum = C[{i, j}]
      for k = 0, K - 1 do
        local a, b = A[{i, k}], B[{j, k}]
        -- the product of two f32 is exact in f64, and so the f64 sum rounds last
        sum = dtype == f32 and round(a * b + sum) or dtype == f64 and fma(a, b, sum) or a * b + sum
      end
      want[#want + 1] = sum
    end
  end
  return want
end

local function compare(name, want, C)
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      local w = want[i * N + j + 1]
      if C[{i, j}] ~= w then
        return print(("%s: (%d,%d) is %.17g, expected %.17g"):format(name, i, j, C[{i, j}], w))
      end
    end
  end
end

-- All orders in one kernel, with a C for each.
local n_run = 0
local dtypes, orders = {f32, f64, i32, i64}, {"columns", "rows", "serpentine", "column_pairs",
  "n ~m", "m4 ~n2 ~m ~n"}
local ways = {}

function ways.registers(A, B, C, order)
  local T = A.dtype
  local a, b, c = fragment(T, {M, K}), fragment(T, {N, K}), fragment(T, {M, N})
  copy(A, a)
  copy(B, b)
  copy(C, c)
  gemm(a, b, c, {order = order})
  copy(c, C)
end

-- From shared memory, transposed, in steps of outer products.
function ways.outer(A, B, C, order)
  local a, b = shared(A.dtype, row_major{M, K}), shared(A.dtype, row_major{N, K})
  local c = fragment(A.dtype, row_major{M, N})
  copy(A, a)
  copy(B, b)
  copy(C, c)
  sync_threads()
  for k in axes(a, 1) do gemm(a(_, k), b(_, k), c, {order = order}) end
  copy(c, C)
end

function ways.global(A, B, C, order) gemm(A, B, C, {order = order}) end

for _, dtype in ipairs(dtypes) do
  local A, B, C = operands(dtype)
  local want = expected(dtype, A, B, C)
  for name, way in sorted(ways) do
    local Cs = {}
    for i = 1, #orders do Cs[i] = select(3, operands(dtype)) end
    kernel(function(A, B, ...)
      for i, C in ipairs{...} do way(A, B, C, orders[i]) end
    end, {static_shapes = true}){grid = 1, block = 1}(A, B, table.unpack(Cs))
    for i, order in ipairs(orders) do
      compare(("%s %s %s"):format(dtype, name, order), want, Cs[i])
      n_run = n_run + 1
    end
  end
end
print(n_run, "products") -- expect: 72	products

-- Vectors: element by element.
local a, b, c = zeros(f32, 4), zeros(f32, 4), zeros(f32, 4)
for i = 0, 3 do a[i], b[i], c[i] = i + 1, i + 2, 100 end
local hadamard = kernel("hadamard", function(a, b, c) gemm(a, b, c) end, {static_shapes = true})
hadamard{grid = 1, block = 1}(a, b, c)
print(table.concat(c:totable(), " ")) -- expect: 102.0 106.0 112.0 120.0
