-- row_reduce and row_broadcast after dot, map, store, load, and a product of sums, against loops.
local function made(dtype, shape)
  return dtype == i8 and rand(dtype, row_major(shape)) or randn(dtype, row_major(shape))
end
local function exact(A, B)  -- reference.matmul of f16 rounds to f16
  return reference.matmul(reference.cast(A:to"cpu", f64), reference.cast(B:to"cpu", f64))
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
  C, R = C:to"cpu", R:to"cpu"
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
local A, B = rand(f16, row_major{64, 32}), rand(f16, row_major{64, 32})
local V = rand(f16, row_major{64, 32})
local O = zeros(f32, row_major{64, 32})
k{grid = 1, block = 128}(A, B, V, O)
V, O = V:to"cpu", O:to"cpu"
local S, worst = exact(A, B), 0
for i = 0, 63 do
  for j = 0, 31 do
    local sum = 0
    for n = 0, i do sum = sum + 2 * S[{i, n}] / 16 * V[{n, j}] end
    worst = math.max(worst, math.abs(O[{i, j}] - sum) / math.max(1, math.abs(sum)))
  end
end
print(worst < 5e-3)  -- expect: true

-- A function of two values, other types, threads that are no power of two, rows from a function.
local function any_rows(dtype, shape, threads, options, op, fold, tolerance)
  local M, N, K = table.unpack(shape)
  local k = kernel("any_rows", function(A, B, C, R, F)
    local sA, sB = shared_like(A), shared_like(B)
    block_copy(A, sA)
    block_copy(B, sB)
    sync_threads()
    local S = dot(sA, sB, accumulator(sA, sB, options))
    for turn in range(2) do           -- the second turn finds the same
      local r = row_reduce(S, op)
      S:store_rows(r, R)
      local both = row_reduce(S, op)  -- and two in a row
      if turn == 1 then S:store_rows(both, F) end
    end
    sync_threads()
    local from = S:new_rows(function(m) return F[m] end)
    for r = 0, S.n_rows - 1 do from[r] = from[r] + cast(S:row(r), from.dtype) end
    row_broadcast(S, from, function(v, f) return v + f end):store(C)
  end, {static_shapes = true})
  local A, B = made(dtype, {M, K}), made(dtype, {N, K})
  local C, R, F = zeros(f64, {M, N}), zeros(f64, M), zeros(f64, M)
  k{grid = 1, block = threads}(A, B, C, R, F)
  A, B, C, R, F = A:to"cpu", B:to"cpu", C:to"cpu", R:to"cpu", F:to"cpu"
  local worst = 0
  for m = 0, M - 1 do
    local row, v = {}, nil
    for n = 0, N - 1 do
      local sum = 0
      for i = 0, K - 1 do sum = sum + A[{m, i}] * B[{n, i}] end
      row[n], v = sum, v == nil and sum or fold(v, sum)
    end
    worst = math.max(worst, math.abs(R[m] - v), math.abs(F[m] - v))
    for n = 0, N - 1 do worst = math.max(worst, math.abs(C[{m, n}] - (row[n] + v + m))) end
  end
  print(worst < tolerance or worst)
end
local function largest(a, b) return where(abs(a) > abs(b), a, b) end
local function largest_here(a, b) return math.abs(a) > math.abs(b) and a or b end
any_rows(f16, {32, 32, 16}, 128, nil, largest, largest_here, 1e-3)          -- expect: true
any_rows(f16, {64, 16, 16}, 128, {warps = {4, 1}}, "add", add, 1e-3)        -- expect: true
any_rows(f64, {16, 64, 16}, 128, nil, "max", math.max, 1e-9)                -- expect: true
any_rows(f32, {4, 24, 8}, 96, nil, "add", add, 1e-4)                        -- expect: true
any_rows(f32, {2, 64, 8}, 128, nil, "min", math.min, 1e-4)                  -- expect: true
any_rows(f32, {32, 5, 8}, 32, nil, "add", add, 1e-4)                        -- expect: true
any_rows(i8, {32, 16, 32}, 64, nil, "max", math.max, 1e-9)                  -- expect: true
