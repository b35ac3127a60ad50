-- sgemm_2d_blocktiling.lua: C = alpha * A * B + beta * C, all row-major, by two levels of tiles: a
-- block of 64 threads computes 64x64 of C, each thread 8x8 of it. In CuTe's convention B is (N,K),
-- so a row-major K x N matrix is column-major here. Usage: cuttle sgemm_2d_blocktiling.lua [size]
local S = tonumber(arg[1] or (device().sm and 4096 or 512))
local M, N, K = S, S, S
local BM, BN, BK, TM, TN = 64, 64, 8, 8, 8
local n_threads = (BM // TM) * (BN // TN)
local tA = row_major{n_threads // BK, BK}       -- neighbours along K, where A is contiguous
local tB = row_major{n_threads, 1}              -- neighbours along N, where B is contiguous

local sgemm = kernel("sgemm", function(alpha, A, B, beta, C)
  local sA = shared(f32, row_major{BM, BK})
  local sB = shared(f32, layout{BN, BK})
  local gA = tile(A, {BM, BK}, {blockIdx.y, _})                  -- (BM, BK, k)
  local gB = tile(B, {BN, BK}, {blockIdx.x, _})                  -- (BN, BK, k)
  local gC = tile(C, {BM, BN}, {blockIdx.y, blockIdx.x})         -- (BM, BN)
  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)

  local row, col = threadIdx.x // (BN // TN), threadIdx.x % (BN // TN)
  local tCsA = tile(sA, {TM, BK}, {row, 0})                      -- (TM, BK)
  local tCsB = tile(sB, {TN, BK}, {col, 0})                      -- (TN, BK)
  local tCgC = tile(gC, {TM, TN}, {row, col})                    -- (TM, TN)
  local tCrC = fragment(f32, {TM, TN})
  clear(tCrC)

  for k in axes(tAgA, 2) do
    copy(tAgA(_, _, k), tAsA)
    copy(tBgB(_, _, k), tBsB)
    cp_async_wait(0)
    sync_threads()
    gemm(tCsA, tCsB, tCrC)
    sync_threads()
  end
  axpby(alpha, tCrC, beta, tCgC)
end)

local A, B, C = rand(f32, row_major{M, K}), rand(f32, {N, K}), zeros(f32, row_major{M, N})
local config = sgemm{grid = {N // BN, M // BM}, block = n_threads}
config(1.0, A, B, 0.0, C)
local ok, worst = allclose(C, reference.matmul(A, B))

-- now with alpha and beta: sampled elements against sums in double precision
local alpha, beta = 2.0, 0.5
local hA, hB, before = A:to("cpu"), B:to("cpu"), C:to("cpu")
config(alpha, A, B, beta, C)
local after = C:to("cpu")
for n = 0, 63 do
  local i, j, sum = n * 7919 % M, n * 104729 % N, 0.0
  for k = 0, K - 1 do sum = sum + hA[{i, k}] * hB[{j, k}] end
  local want = alpha * sum + beta * before[{i, j}]
  if math.abs(after[{i, j}] - want) > 1e-5 * math.abs(want) then
    ok, worst = false, ("C[{%d,%d}] is %g, expected %g"):format(i, j, after[{i, j}], want)
  end
end
print(("sgemm %dx%dx%d f32 on %s: %s"):format(M, N, K, device().name, ok and "correct" or worst))
local ms = bench(function() config(alpha, A, B, beta, C) end)
print(("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6))
os.exit(ok, true)
