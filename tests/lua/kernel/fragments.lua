-- Fragments: each thread has its own; elements by static index, in any of the layout's coordinates.
local out = zeros(f32, {6, 4})
kernel("own", function(out)
  local r = fragment(f32, {2, 3})
  for j = 0, 2 do
    for i = 0, 1 do r[{i, j}] = threadIdx.x * 10.0 + i + 2 * j end
  end
  r[5] = r[5] + 0.5                    -- linear: (1,2)
  r[{0, 0}] = r(1, 0) * 2
  for k = 0, 5 do out[{k, threadIdx.x}] = r[k] end
end){grid = 1, block = 4}(out)
print(out:to("cpu"))
-- expect: tensor f32 (6,4):(1,6) on cpu
-- expect:      2    22    42    62
-- expect:      1    11    21    31
-- expect:      2    12    22    32
-- expect:      3    13    23    33
-- expect:      4    14    24    34
-- expect:    5.5  15.5  25.5  35.5

-- Loops whose variable indexes a fragment are unrolled: range with static bounds, axes of it.
local sums = zeros(f32, 4)
kernel("unrolled", function(sums)
  local r = fragment(f32, {8})
  for i in range(8) do r[i] = i * 1.0 end
  local sum = 0.0
  for i in axes(r, 0) do sum = sum + r[i] end
  sums[threadIdx.x] = sum + threadIdx.x
end){grid = 1, block = 4}(sums)
print(sums[0], sums[3])                -- expect: 28.0	31.0

-- Slices and tiles of fragments; strides of 0 share an element.
local parts = zeros(f32, 8)
kernel("parts", function(t)
  local r = fragment(f32, {4, 2})
  clear(r)
  fill(r(_, 1), 3.0)
  fill(tile(r, {2, 2}, {1, 0}), 5.0)
  copy(r, view(t, layout{4, 2}))
end){grid = 1, block = 1}(parts)
print(table.concat(parts:totable(), " ")) -- expect: 0.0 0.0 5.0 5.0 3.0 3.0 5.0 5.0

-- fragment_like has the static shape, compact; of another type when asked.
local like = zeros(i32, 4)
kernel("like", function(A, t)
  local g = tile(A, {4, 1}, {0, blockIdx.x})
  local r = fragment_like(g, i32)
  t[threadIdx.x] = size(r) * 100 + cosize(r.layout) * 10 + r.dtype.bits // 8
end){grid = 1, block = 4}(zeros(f32, row_major{4, 2}), like)
print(like[0])                         -- expect: 444

-- Accumulators of other types.
local acc = zeros(f64, 1)
local count = zeros(i64, 1)
kernel("accumulate", function(x, acc, count, n)
  local d, c = fragment(f64, {1}), fragment(i64, {1})
  clear(d)
  clear(c)
  for i in range(n) do
    d[0] = d[0] + x[i]
    c[0] = c[0] + 1
  end
  acc[0] = d[0]
  count[0] = c[0]
end){grid = 1, block = 1}(full(f32, {1000}, 0.1), acc, count, 1000)
print(("%.9f"):format(acc[0]), count[0]) -- expect: 100.000001490	1000

-- An array that no thread has registers for lies in memory: loops over it are not unrolled, which would take the
-- compiler minutes.
local function unrolled(m, K)
  local k = kernel("product", function(A, B, C)
    local a, b, c = fragment(f32, {m, K}), fragment(f32, {2, K}), fragment(f32, {m, 2})
    copy(A, a)
    copy(B, b)
    clear(c)
    gemm(a, b, c)
    copy(c, C)
  end, {static_shapes = true})
  local A, B, C = rand(f32, {m, K}), rand(f32, {2, K}), zeros(f32, {m, 2})
  k{grid = 1, block = 1}(A, B, C)
  local text = k{grid = 1, block = 1}:source(A, B, C)
  local _, whole = text:gsub("#pragma unroll *[\n/]", "")
  return select(2, text:gsub("for %(", "")), whole, allclose(C, reference.matmul(A, B))
end
print(unrolled(4, 64)) -- expect: 7	7	true
print(unrolled(4, 2048)) -- expect: 7	4	true
