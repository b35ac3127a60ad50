-- dot in whole kernels: slots of a pipeline, ragged sizes, sums of another type, sums that begin
-- from a tile, operands in registers, part of a block; against plain loops.
local function worst_of(C, A, B, f)
  local M, N, K = size(A, 0), size(B, 0), size(A, 1)
  local a, b, worst = {}, {}, 0
  C, A, B = C:to"cpu", A:to"cpu", B:to"cpu"
  for k = 0, K - 1 do
    for m = 0, M - 1 do a[m * K + k] = A[{m, k}] end
    for n = 0, N - 1 do b[n * K + k] = B[{n, k}] end
  end
  for m = 0, M - 1 do
    for n = 0, N - 1 do
      local sum = 0
      for k = 0, K - 1 do sum = sum + a[m * K + k] * b[n * K + k] end
      local expected = f and f(sum, m, n) or sum
      worst = math.max(worst, math.abs(C[{m, n}] - expected) / math.max(1, math.abs(expected)))
    end
  end
  return worst
end

-- Three slots, guarded tensors, any order of modes, sums to the type of C.
local function pipelined(bM, bN, bK, stages)
  return kernel("pipelined", function(A, B, C)
    local gA = tile(guard(A), {bM, bK}, {blockIdx.x, _})
    local gB = tile(guard(B), {bN, bK}, {blockIdx.y, _})
    local sA, sB = shared_like(gA, stages), shared_like(gB, stages)
    local acc = accumulator(sA, sB)
    pipeline(size(gA, 2), {
      stages = stages,
      load = function(k, slot)
        block_copy(gA(_, _, k), sA(_, _, slot))
        block_copy(gB(_, _, k), sB(_, _, slot))
      end,
      compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
    })
    acc:store(tile(guard(C), {bM, bN}, {blockIdx.x, blockIdx.y}))
  end)
end
local function run(dtype, result, M, N, K, stages, oA, oB, tolerance)
  local A, B, C = randn(dtype, oA{M, K}), randn(dtype, oB{N, K}), zeros(result, row_major{M, N})
  pipelined(64, 32, 32, stages){grid = cdiv({M, N}, {64, 32}), block = 64}(A, B, C)
  local worst = worst_of(C, A, B)
  print(worst < tolerance or worst)
end
run(f16, f32, 128, 64, 128, 3, row_major, row_major, 1e-4)  -- expect: true
run(f16, f16, 100, 50, 72, 3, row_major, row_major, 1e-3)   -- expect: true
run(bf16, bf16, 65, 33, 40, 2, col_major, row_major, 8e-3)  -- expect: true
run(f16, f32, 70, 40, 31, 4, row_major, col_major, 1e-4)    -- expect: true
run(f32, f32, 64, 40, 50, 2, col_major, row_major, 1e-4)    -- expect: true
run(f64, f32, 40, 40, 50, 2, row_major, row_major, 1e-6)    -- expect: true

-- A tile of another type is cast on its way to shared memory, and sums begin from C, of f16.
local from_f32 = kernel("from_f32", function(A, B, C)
  local sA, sB = shared_like(A, nil, f16), shared_like(B, nil, f16)
  block_copy(A, sA)
  block_copy(B, sB)
  sync_threads()
  local acc = accumulator(sA, sB)
  acc:load(C)
  dot(sA, sB, acc):store(C)
end, {static_shapes = true})
do
  local function eighths()  -- exact in f16
    local t = {}
    for i = 1, 1024 do t[i] = math.random(-8, 8) / 8 end
    return view(from_table(f32, t), row_major{32, 32})
  end
  local A, B, C = eighths(), eighths(), randn(f16, row_major{32, 32})
  local before = C:to"cpu"
  from_f32{grid = 1, block = 64}(A, B, C)
  print(worst_of(C, A, B, function(sum, m, n) return sum + before[{m, n}] end) < 1e-3)  -- expect: true
end

-- Operands in registers: A, changed there; both; and a product without an accumulator.
local held = kernel("held", function(A, B, C, D, E)
  local sA, sB = shared_like(A), shared_like(B)
  block_copy(A, sA)
  block_copy(B, sB)
  sync_threads()
  local acc = accumulator(sA, sB)
  local a = acc:read_A(sA)
  transform(a, function(v) return cast(2 * v, f16) end)
  for _ in range(3) do
    acc:clear()
    dot(a, sB, acc)
  end
  acc:store(C)
  acc:clear()
  local function sign(v, k) return where(k % 2 == 0, v, 0 - v) end
  a = acc:read_A(sA, function(v, m, k) return where(m < 16, 2, 1) * sign(v, k) end)
  local b = acc:read_B(sB, function(v, n, k) return where(n < 8, 1, 4) * sign(v, k) end)
  dot(a, b, acc)
  acc:store(D)
  dot(sA, sB):map(function(v, m, n) return v + 10 * m + n end):store(E)
end, {static_shapes = true})
do
  local A, B = randn(f16, row_major{32, 32}), randn(f16, row_major{16, 32})
  local C, D, E = zeros(f32, {32, 16}), zeros(f32, {32, 16}), zeros(f32, {32, 16})
  held{grid = 1, block = 64}(A, B, C, D, E)
  print(worst_of(C, A, B, function(sum) return 2 * sum end) < 1e-3)                   -- expect: true
  local function scaled(sum, m, n) return sum * (m < 16 and 2 or 1) * (n < 8 and 1 or 4) end
  print(worst_of(D, A, B, scaled) < 1e-3)                                             -- expect: true
  print(worst_of(E, A, B, function(sum, m, n) return sum + 10 * m + n end) < 1e-3)    -- expect: true
end

-- One warp of two multiplies; the other one loads.
local roles = kernel("roles", function(A, B, C)
  local sA, sB = shared_like(A), shared_like(B)
  if threadIdx.x >= 32 then
    for i in range(threadIdx.x - 32, size(A), 32) do sA[i] = A[i] end
    for i in range(threadIdx.x - 32, size(B), 32) do sB[i] = B[i] end
  end
  sync_threads()
  if threadIdx.x < 32 then
    local acc = dot(sA, sB, accumulator(sA, sB, {threads = 32}))
    local top = row_reduce(acc, "max")
    row_broadcast(acc, top, function(v, t) return v - t end):store(C)
  end
end, {static_shapes = true})
do
  local A, B = randn(f16, row_major{32, 16}), randn(f16, col_major{8, 16})
  local C = zeros(f32, {32, 8})
  roles{grid = 1, block = 64}(A, B, C)
  local top = {}
  worst_of(C, A, B, function(sum, m) top[m] = math.max(top[m] or sum, sum) return 0 end)
  print(worst_of(C, A, B, function(sum, m) return sum - top[m] end) < 1e-3)  -- expect: true
end

-- A tile of a guarded tensor that is not tiled may lie outside, and reads as 0 then.
local outside = kernel("outside", function(A, y)
  local s = shared(f16, row_major{16, 16})
  for i in range(3) do
    block_copy(guard(A)(_, _, i - 1), s)
    sync_threads()
    for j in range(threadIdx.x, 256, 32) do y[{j, i}] = s[j] end
    sync_threads()
  end
end, {static_shapes = true})
local y = full(f16, {256, 3}, 7.0)
outside{grid = 1, block = 32}(ones(f16, layout({16, 16, 1}, {16, 1, 256})), y)
y = y:to"cpu"
print(y[{5, 0}], y[{5, 1}], y[{5, 2}])  -- expect: 0.0	1.0	0.0

-- Products of integers have their index arithmetic before their loop, that of C, too; others where
-- it is written.
local function whole(dtype, result)
  local k = kernel("whole", function(A, B, C)
    local gA, gB = tile(A, {64, 64}, {blockIdx.x, _}), tile(B, {32, 64}, {blockIdx.y, _})
    local sA, sB = shared_like(gA, 2), shared_like(gB, 2)
    local acc = accumulator(sA, sB)
    pipeline(size(gA, 2), {
      load = function(i, slot)
        block_copy(gA(_, _, i), sA(_, _, slot))
        block_copy(gB(_, _, i), sB(_, _, slot))
      end,
      compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
    })
    acc:store(tile(C, {64, 32}, {blockIdx.x, blockIdx.y}))
  end)
  local A, B = rand(dtype, row_major{64, 128}), rand(dtype, row_major{32, 128})
  local C = zeros(result, row_major{64, 32})
  local launch = k{grid = 1, block = 64}
  launch(A, B, C)
  return launch:source(A, B, C), worst_of(C, A, B)
end
-- The pointers of a string that stand before its first condition.
local function early(text)
  local names = {}
  for name in text:sub(1, assert(text:find("if (A_shape1", 1, true))):gmatch "([%w_]+) = %u %+" do
    names[#names + 1] = name
  end
  return table.concat(names, " ")
end
local text, worst = whole(i8, i32)
print(early(text), worst == 0)  -- expect: gA gB C_ptr	true
text, worst = whole(u8, i32)
print(early(text), worst == 0)  -- expect: gA gB C_ptr	true
print(#early(whole(f16, f32)))  -- expect: 0
