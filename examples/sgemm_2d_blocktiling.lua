-- sgemm_2d_blocktiling.lua: C = alpha * A * B + beta * C, all row-major, with two levels of tiles:
-- 64 threads of a block compute 64x64 of C, each thread 8x8. A is (M,K), B is (K,N). A thread sums
-- outer products of columns and rows of its tiles, once with `gemm` and once with explicit loops.
-- Usage: cuttle sgemm_2d_blocktiling.lua [size]
local S = tonumber(arg[1] or (device().sm and 4096 or 512))
local M, N, K = S, S, S
local BM, BN, BK, TM, TN = 64, 64, 8, 8, 8
local n_threads = (BM // TM) * (BN // TN)
local tA = row_major{n_threads // BK, BK}       -- neighbours along K, where A is contiguous
local tB = row_major{1, n_threads}              -- neighbours along N, where B is contiguous

-- The products of a thread's parts of sA and sB, added to sums of (TM, TN).
local function outer_products(sA, sB, row, col)
  local tCsA = tile(sA, {TM, 1}, {row, _})                       -- (TM, 1, BK)
  local tCsB = tile(sB, {1, TN}, {_, col})                       -- (1, TN, BK)
  local tCrA, tCrB = fragment(f32, TM), fragment(f32, TN)
  return function(tCrC)
    for k = 0, BK - 1 do                                         -- unrolled
      copy(tCsA(_, _, k), tCrA)
      copy(tCsB(_, _, k), tCrB)
      for i in axes(tCrC, 0) do
        for j in axes(tCrC, 1) do tCrC[{i, j}] = tCrC[{i, j}] + tCrA[i] * tCrB[j] end
      end
    end
  end
end

-- The same by the library, whose B is (N,K).
local function by_gemm(sA, sB, row, col)
  local tCsA = tile(sA, {TM, BK}, {row, 0})                      -- (TM, BK)
  local tCsB = select(tile(sB, {BK, TN}, {0, col}), 1, 0)        -- (TN, BK)
  return function(tCrC) gemm(tCsA, tCsB, tCrC) end
end

local function make_sgemm(name, way)
  return kernel(name, function(alpha, A, B, beta, C)
    local sA = shared(f32, row_major{BM, BK})
    local sB = shared(f32, row_major{BK, BN})
    local gA = tile(A, {BM, BK}, {blockIdx.y, _})                -- (BM, BK, k)
    local gB = tile(B, {BK, BN}, {_, blockIdx.x})                -- (BK, BN, k)
    local gC = tile(C, {BM, BN}, {blockIdx.y, blockIdx.x})       -- (BM, BN)
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)

    local row, col = threadIdx.x // (BN // TN), threadIdx.x % (BN // TN)
    local multiply = way(sA, sB, row, col)
    local tCgC = tile(gC, {TM, TN}, {row, col})                  -- (TM, TN)
    local tCrC = fragment(f32, {TM, TN})
    clear(tCrC)

    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), tAsA)
      copy(tBgB(_, _, k), tBsB)
      cp_async_wait(0)
      sync_threads()
      multiply(tCrC)
      sync_threads()
    end
    axpby(alpha, tCrC, beta, tCgC)
  end)
end

local A, B, C = rand(f32, row_major{M, K}), rand(f32, row_major{K, N}), zeros(f32, row_major{M, N})
local want = reference.matmul(A, select(B, 1, 0))
local alpha, beta = 2.0, 0.5

-- With alpha and beta: sampled elements against sums in double precision.
local function check_scaled(config)
  local hA, hB, before = A:to("cpu"), B:to("cpu"), C:to("cpu")
  config(alpha, A, B, beta, C)
  local after = C:to("cpu")
  for n = 0, 63 do
    local i, j, sum = n * 7919 % M, n * 104729 % N, 0.0
    for k = 0, K - 1 do sum = sum + hA[{i, k}] * hB[{k, j}] end
    local expected = alpha * sum + beta * before[{i, j}]
    if math.abs(after[{i, j}] - expected) > 1e-5 * math.abs(expected) then
      return false, ("C[{%d,%d}] is %g, expected %g"):format(i, j, after[{i, j}], expected)
    end
  end
  return true
end

local function run(name, way)
  local config = make_sgemm(name, way){grid = {N // BN, M // BM}, block = n_threads}
  config(1.0, A, B, 0.0, C)
  local ok, worst = allclose(C, want)
  if ok then ok, worst = check_scaled(config) end
  print(("%s %dx%dx%d f32 on %s: %s"):format(name, M, N, K, device().name,
    ok and "correct" or worst))
  local ms = bench(function() config(alpha, A, B, beta, C) end)
  print(("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6))
  return ok
end

local ok = run("sgemm", by_gemm)
os.exit(run("sgemm_outer", outer_products) and ok, true)
