-- moye_matmul.lua: C = A * B', tiled as in MoYe's manual. A is (M,K), B is (N,K), C is (M,N), all
-- column-major f32. Usage: cuttle moye_matmul.lua [M N K]
local M, N, K = tonumber(arg[1] or 2048), tonumber(arg[2] or 2048), tonumber(arg[3] or 256)
local bM, bN, bK = 128, 128, 8
local sA_layout = layout({bM, bK}, {1, bM + 1})     -- padded: no bank conflicts
local sB_layout = layout({bN, bK}, {1, bN + 1})
local tA, tB, tC = layout{32, 8}, layout{32, 8}, layout{16, 16}

local matmul = kernel("matmul", function(A, B, C)
  local sA = shared(A.dtype, sA_layout)                     -- (bM, bK)
  local sB = shared(B.dtype, sB_layout)                     -- (bN, bK)
  local gA = tile(A, {bM, bK}, {blockIdx.x, _})             -- (bM, bK, k)
  local gB = tile(B, {bN, bK}, {blockIdx.y, _})             -- (bN, bK, k)
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})    -- (bM, bN)

  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
  local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})     -- rows of tC
  local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})     -- columns of tC
  local tCgC = parallelize(gC, tC, threadIdx.x)
  local tCrC = fragment_like(tCgC)
  clear(tCrC)

  for k in axes(tAgA, 2) do
    copy(tAgA(_, _, k), tAsA)
    copy(tBgB(_, _, k), tBsB)
    cp_async_wait(0)
    sync_threads()
    gemm(tCsA, tCsB, tCrC)
    sync_threads()
  end
  copy(tCrC, tCgC)
end)

local A, B = rand(f32, {M, K}), rand(f32, {N, K})
local C = zeros(f32, {M, N})
local launch = matmul:prepare{grid = {cdiv(M, bM), cdiv(N, bN)}, block = size(tC)}(A, B, C)
launch()

local ok, worst = allclose(C, reference.matmul(A, B))
print(("matmul %dx%dx%d f32 on %s: %s"):format(M, N, K, device().name, ok and "correct" or worst))
local ms = bench(launch)
print(("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6))
os.exit(ok, true)
