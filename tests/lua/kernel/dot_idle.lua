-- A product that all threads of the block cannot share: some of them are idle, and say so. Results are those of
-- plain Lua; rows, chained products and stores leave the idle threads out.
-- needs sm_80
local function product(M, N, K, block, dtype, options)
  local A, B = randn(dtype, row_major{M, K}), randn(dtype, row_major{N, K})
  local C, R = zeros(f32, row_major{M, N}), zeros(f32, M)
  local atom, threads
  local k = kernel("product", function(A, B, C, R)
    local sA, sB = shared_like(A), shared_like(B)
    block_copy(A, sA)
    block_copy(B, sB)
    sync_threads()
    local acc = accumulator(sA, sB, options)
    dot(sA, sB, acc)
    atom, threads = acc.mma.atom.name, acc.threads
    if M == 7 then explain(acc) end
    acc:store(C)
    acc:store_rows(row_reduce(acc, "max"), R)
  end, {static_shapes = true})
  k{grid = 1, block = block}(A, B, C, R)
  local worst = 0
  for i = 0, M - 1 do
    local most = -math.huge
    for j = 0, N - 1 do
      local sum = 0
      for n = 0, K - 1 do sum = sum + A[{i, n}] * B[{j, n}] end
      worst, most = math.max(worst, math.abs(sum - C[{i, j}])), math.max(most, C[{i, j}])
    end
    worst = math.max(worst, math.abs(R[i] - most))
  end
  print(atom, threads, worst < 1e-4)
end
product(64, 64, 32, 96, f16)
-- expect: SM80_16x8x16_F32F16F16F32_TN	64	true
product(48, 24, 16, 160, f16, {atom = "SM80_16x8x16_F32F16F16F32_TN"})
-- expect: SM80_16x8x16_F32F16F16F32_TN	96	true
product(64, 64, 16, 100, f16)
-- expect: UniversalFMA<f32>	64	true
product(7, 13, 5, 32, f32)
-- expect: product       (M,N,K) = (7,13,5)
-- expect: atom          UniversalFMA<f32>: tensor cores multiply no f32
-- expect: threads       13: (1,1,13,1):(0,13,1,0) of (M,N); the other 19 of 32 are idle, because all together do not divide (M,N)
-- expect: A             plain loads: each thread reads what it multiplies
-- expect: B             plain loads: each thread reads what it multiplies
-- expect: sums          7 of f32, in 7 rows of a thread
-- expect: UniversalFMA<f32>	13	true
product(64, 64, 32, 128, f16)
-- expect: SM80_16x8x16_F32F16F16F32_TN	128	true

-- Sums as an operand of another product: both leave the same warps out.
local A, B, V, O = randn(f16, row_major{32, 32}), randn(f16, row_major{32, 32}),
  randn(f16, row_major{32, 32}), zeros(f32, row_major{32, 32})
kernel("chain", function(A, B, V, O)
  local sA, sB, sV = shared_like(A), shared_like(B), shared_like(V)
  block_copy(A, sA)
  block_copy(B, sB)
  block_copy(V, sV)
  sync_threads()
  local s = dot(sA, sB)
  local o = accumulator(s, sV)
  dot(s, sV, o)
  o:store(O)
end, {static_shapes = true}){grid = 1, block = 96}(A, B, V, O)
local worst = 0
for i = 0, 31 do
  local row = {}
  for n = 0, 31 do
    local s = 0
    for m = 0, 31 do s = s + A[{i, m}] * B[{n, m}] end
    row[n] = f16(s).value
  end
  for j = 0, 31 do
    local sum = 0
    for n = 0, 31 do sum = sum + row[n] * V[{j, n}] end
    worst = math.max(worst, math.abs(sum - O[{i, j}]))
  end
end
print(worst < 0.2) -- expect: true

-- Idle threads have no elements of their own: map leaves them out.
local D, N = zeros(f32, row_major{24, 40}), zeros(i32, 1)
local E, F = ones(f32, row_major{24, 16}), ones(f32, row_major{40, 16})
kernel("mapped", function(E, F, D, N)
  local sE, sF = shared_like(E), shared_like(F)
  block_copy(E, sE)
  block_copy(F, sF)
  sync_threads()
  dot(sE, sF):map(function(v, m, n)
    atomic_add(N, 0, 1)
    D[{m, n}] = v
    return v
  end)
end, {static_shapes = true}){grid = 1, block = 128}(E, F, D, N)
local least = math.huge
for i = 0, size(D) - 1 do least = math.min(least, D[i]) end
print(N[0], least) -- expect: 960	16.0
