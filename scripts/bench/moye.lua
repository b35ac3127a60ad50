-- moye.lua: the product of matrices of examples/moye_matmul.lua, which benchmarks measure.
local ct = require "cuttle"
local M = {}

--- The kernel, anew at each call.
function M.kernel()
  local layout, shared, tile, parallelize = ct.layout, ct.shared, ct.tile, ct.parallelize
  local blockIdx, threadIdx, _ = ct.blockIdx, ct.threadIdx, ct._
  local copy, clear, gemm, axes = ct.copy, ct.clear, ct.gemm, ct.axes
  local cp_async_wait, sync_threads, fragment_like =
    ct.cp_async_wait, ct.sync_threads, ct.fragment_like
  local bM, bN, bK = 128, 128, 8
  local sA_layout, sB_layout = layout({bM, bK}, {1, bM + 1}), layout({bN, bK}, {1, bN + 1})
  local tA, tB, tC = layout{32, 8}, layout{32, 8}, layout{16, 16}
  return ct.kernel("matmul", function(A, B, C)
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
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
end

--- Its arguments and launch configuration: A (m,k), B (n,k), C (m,n), f32, of whole tiles.
function M.problem(m, n, k)
  local A, B = ct.rand(ct.f32, {m, k}), ct.rand(ct.f32, {n, k})
  local C = ct.zeros(ct.f32, {m, n})
  return A, B, C, {grid = {m // 128, n // 128}, block = 256}
end

return M
