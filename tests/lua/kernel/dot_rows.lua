-- row_reduce and row_broadcast after dot, map, store, load, and a product of sums, against loops.
local function exact(A, B)  -- reference.matmul of f16 rounds to f16
  local out = zeros(f64, {64, 64})
  for i = 0, 63 do
    for j = 0, 63 do
      local sum = 0
      for k = 0, 31 do sum = sum + A[{i, k}] * B[{j, k}] end
      out[{i, j}] = sum
    end
  end
  return out
end
local function rows(warps, op, fold)
  local k = kernel("rows", function(A, B, C, R)
    local sA, sB = shared_like(A), shared_like(B)
    block_copy(A, sA)
    block_copy(B, sB)
    sync_threads()
    local S = dot(sA, sB, accumulator(sA, sB, {warps = warps}))
    local m = row_reduce(S, op)
    row_broadcast(S, m, function(v, r) return v - r end)
    S:store(C)
    S:store_rows(m, R)
  end, {static_shapes = true})
  local A, B = rand(f16, row_major{64, 32}), rand(f16, row_major{64, 32})
  local C, R, ref = zeros(f32, {64, 64}), zeros(f32, 64), exact(A, B)
  k{grid = 1, block = 128}(A, B, C, R)
  local worst = 0
  for i = 0, 63 do
    local v = ref[{i, 0}]
    for j = 1, 63 do v = fold(v, ref[{i, j}]) end
    worst = math.max(worst, math.abs(R[i] / v - 1))
    for j = 0, 63 do worst = math.max(worst, math.abs(C[{i, j}] - (ref[{i, j}] - v))) end
  end
  print(op, worst < 2e-3)
end
local function add(a, b) return a + b end
rows({4, 1}, "add", add)       -- expect: add	true
rows({2, 2}, "add", add)       -- expect: add	true
rows({4, 1}, "max", math.max)  -- expect: max	true
rows({1, 4}, "min", math.min)  -- expect: min	true

-- Sums as A of the next product: what attention does.
local k = kernel("two", function(A, B, V, O)
  local sA, sB, sV = shared_like(A), shared_like(B), shared_like(V)
  block_copy(A, sA)
  block_copy(B, sB)
  block_copy(V, sV)
  sync_threads()
  local S = accumulator(sA, sB, {warps = {4, 1}})
  local T = select(sV, 1, 0)  -- (N,K) of V (K,N)
  local out = accumulator(S, T)
  for _ in range(2) do
    clear(S.sums)
    dot(sA, sB, S)
    S:map(function(v, m, n) return n <= m and v / 16 or 0.0 end)
    dot(S, T, out)
  end
  out:store(O)
end, {static_shapes = true})
local A, B, V = rand(f16, row_major{64, 32}), rand(f16, row_major{64, 32}), rand(f16, row_major{64, 32})
local O = zeros(f32, row_major{64, 32})
k{grid = 1, block = 128}(A, B, V, O)
local S, worst = exact(A, B), 0
for i = 0, 63 do
  for j = 0, 31 do
    local sum = 0
    for n = 0, i do sum = sum + 2 * S[{i, n}] / 16 * V[{n, j}] end
    worst = math.max(worst, math.abs(O[{i, j}] - sum) / math.max(1, math.abs(sum)))
  end
end
print(worst < 5e-3)  -- expect: true
