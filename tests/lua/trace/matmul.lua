-- trace of a tiled matmul: the row of A and the row of B that meet in the element, each brought to
-- shared memory by the threads that the layouts say, the sum made by the thread that owns it.
local M, N, K, bM, bN, bK = 64, 32, 64, 32, 32, 8
local sA_layout = layout({bM, bK}, {1, bM + 1})
local tA, tC = layout{32, 2}, layout{8, 8}

local matmul = kernel("matmul", function(A, B, C)
  local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sA_layout)
  local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tA, threadIdx.x), parallelize(sB, tA, threadIdx.x)
  local tCgC = parallelize(gC, tC, threadIdx.x)
  local tCrC = fragment_like(tCgC)
  clear(tCrC)
  for k in axes(tAgA, 2) do
    copy(tAgA(_, _, k), tAsA)
    copy(tBgB(_, _, k), tBsB)
    sync_threads()
    gemm(parallelize(sA, tC, threadIdx.x, {1, _}), parallelize(sB, tC, threadIdx.x, {_, 1}), tCrC)
    sync_threads()
  end
  copy(tCrC, tCgC)
end)

local A, B, C = rand(f32, {M, K}), rand(f32, {N, K}), zeros(f32, {M, N})
local launch = matmul:prepare{grid = {M // bM, N // bN}, block = 64}(A, B, C)
local t = trace(launch, {C = {37, 12}})
print(t)
-- expect: C(37,12): 168 events
-- expect: block 1
-- expect:   tests/lua/trace/matmul.lua:15: clear(tCrC)
-- expect:       thread 37
-- expect:   tests/lua/trace/matmul.lua:17: copy(tAgA(_, _, k), tAsA)
-- expect:       A(37,0..63) -> sA(5,0..7), threads 5 37, 32 times
-- expect:   tests/lua/trace/matmul.lua:18: copy(tBgB(_, _, k), tBsB)
-- expect:       B(12,0..63) -> sB(12,0..7), threads 12 44, 32 times
-- expect:   tests/lua/trace/matmul.lua:20: gemm(parallelize(sA, tC, threadIdx.x, {1, _}), parallelize(sB, tC, threadIdx.x, {_, 1}), tCrC)
-- expect:       sA(5,0..7), sB(12,0..7), thread 37, 8 times
-- expect:   tests/lua/trace/matmul.lua:23: copy(tCrC, tCgC)
-- expect:       -> C(37,12), thread 37

-- Nothing was computed here.
print(C[{37, 12}]) -- expect: 0.0

-- As numbers: the elements of A and B, and who brought them.
local seen = {}
for _, row in ipairs(t.rows) do
  if row.kind == "reads" and row.space == "global" then
    local key = row.tensor .. row.offset
    assert(not seen[key])
    local extent, line = row.tensor == "A" and M or N, row.tensor == "A" and 37 or 12
    local k = row.offset // extent
    local thread = line % 32 + k % 2 * 32
    assert(row.offset % extent == line and row.thread == thread, key)
    seen[key], seen[row.tensor] = true, (seen[row.tensor] or 0) + 1
  end
end
print(seen.A, seen.B) -- expect: 64	64
