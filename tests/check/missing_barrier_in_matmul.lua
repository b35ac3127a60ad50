-- The tiled product without the second barrier of its loop.
local bM, bN, bK = 32, 32, 8
local matmul = kernel("matmul", function(A, B, C)
  local sA, sB = shared(f32, layout{bM, bK}), shared(f32, layout{bN, bK})
  local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
  local tA, tC = layout{32, 2}, layout{8, 8}
  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tA, threadIdx.x), parallelize(sB, tA, threadIdx.x)
  local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
  local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
  local tCgC = parallelize(gC, tC, threadIdx.x)
  local tCrC = fragment_like(tCgC)
  clear(tCrC)
  for k in axes(tAgA, 2) do
    copy(tAgA(_, _, k), tAsA) -- finds: race: write of sA at (0,0), extent (32,8), by thread (0,0,0) of block (0,0,0), and read by thread (32,0,0) at line 20 are not ordered; put sync_threads() after line 20, before line 16 comes again
    copy(tBgB(_, _, k), tBsB) -- finds: race: write of sB at (4,0), extent (32,8), by thread (4,0,0) of block (0,0,0), and read by thread (32,0,0) at line 20 are not ordered; put sync_threads() after line 20, before line 17 comes again
    cp_async_wait(0)
    sync_threads()
    gemm(tCsA, tCsB, tCrC)
  end
  copy(tCrC, tCgC)
end)
matmul{grid = {2, 2}, block = 64}(rand(f32, {64, 32}), rand(f32, {64, 32}), zeros(f32, {64, 64}))
