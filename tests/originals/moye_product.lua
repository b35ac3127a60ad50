-- What MoYe.jl's page on the matrix product shows, item by item: A (M,K) and B (N,K), column-major,
-- divided among blocks and threads, copied to padded shared memory, multiplied, stored.
device("cpu")
local tap = dofile "tests/support/tap.lua"
local M, N, K = 64, 64, 32
local bM, bN, bK = 32, 32, 8
local sA_layout, sB_layout = layout({bM, bK}, {1, bM + 1}), layout({bN, bK}, {1, bN + 1})
local tA, tB, tC = layout{8, 8}, layout{8, 8}, layout{8, 8}

local function text(x) return (tostring(x):gsub("%s+$", "")) end
local function offset_of(...) return (select(2, ...)) end

-- {====== Layouts, before there is a kernel ======

tap.is(text(tile(layout{M, N}, {bM, bN}, {1, 1})), "(32,32):(1,64)", "a block's tile of C")
tap.is(offset_of(tile(layout{M, N}, {bM, bN}, {1, 1})), 32 + 32 * 64, "and where it begins")
tap.is(text(tile(layout{M, K}, {bM, bK}, {1, _})), "(32,8,4):(1,64,512)", "its tiles of A, along K")
tap.is(text(tile(layout{N, K}, {bN, bK}, {0, _}).shape), "(32,8,4)", "its tiles of B, along K")
tap.is(cosize(sA_layout) + cosize(sB_layout), 2 * (7 * 33 + 32),
  "shared memory takes as much as the layouts reach over")
tap.is(text(layout{32, 8}), "(32,8):(1,32)", "threads of 32x8 count along M first")
tap.is(text(parallelize(layout{bM, bK}, tA, 0).shape), "(4,1)", "threads share out a tile")
tap.is(text(parallelize(layout{bM, bN}, tC, 0).shape), "(4,4)", "each takes 4x4 of C")
tap.is(text(parallelize(layout{bM, bK}, tC, 9, {1, _}).shape), "(4,8)",
  "a projection keeps the rows of tC, and all of K")
tap.is(text(parallelize(layout{bN, bK}, tC, 9, {_, 1}).shape), "(4,8)", "or its columns")
tap.is(offset_of(parallelize(layout{bM, bK}, tC, 9, {1, _})), 1, "thread 9 is in row 1 of tC")
tap.is(offset_of(parallelize(layout{bN, bK}, tC, 18, {_, 1})), 2, "thread 18 is in column 2")
tap.is(text(sA_layout), "(32,8):(1,33)", "one row more than it needs pads a tile")
tap.ok(evenly_divides({bM, bN}, tC.shape), "tC divides the tile of C")
tap.is(table.concat(cdiv({M, N - 1}, {bM, bN}), " "), "2 2", "the grid is the quotient, rounded up")

-- {====== The kernel ======

local seen = {}
local function body(A, B, C, by_hand)
  local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
  local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
  local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
  local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
  local tCgC = parallelize(gC, tC, threadIdx.x)
  local tCrC = fragment_like(tCgC)
  seen.shapes = ("%s %s %s"):format(text(tCrC.shape), text(tCsA.shape), text(tAsA.shape))
  clear(tCrC)
  for k in axes(tAgA, 2) do
    copy(tAgA(_, _, k), tAsA)
    copy(tBgB(_, _, k), tBsB)
    cp_async_wait(0)
    sync_threads()
    if by_hand then
      for k_block in axes(tCsA, 1) do
        for m in axes(tCsA, 0) do
          for n in axes(tCsB, 0) do
            tCrC[{m, n}] = tCrC[{m, n}] + tCsA[{m, k_block}] * tCsB[{n, k_block}]
          end
        end
      end
    else
      gemm(tCsA, tCsB, tCrC)
    end
    sync_threads()
  end
  copy(tCrC, tCgC)
end
local by_loops = kernel("by_loops", function(A, B, C) body(A, B, C, true) end)
local by_gemm = kernel("by_gemm", function(A, B, C) body(A, B, C, false) end)

local A, B = rand(f32, {M, K}), rand(f32, {N, K})
local want = reference.matmul(A, B)
local config = {grid = cdiv({M, N}, {bM, bN}), block = size(tC)}
local ways = {{"three loops multiply, as on a CPU", by_loops}, {"gemm is the same", by_gemm}}
for _, row in ipairs(ways) do
  local C = full(f32, {M, N}, -1)
  row[2](config)(A, B, C)
  tap.ok(allclose(C, want), row[1])
end
tap.is(seen.shapes, "(4,4) (4,8) (4,1)", "the shapes that the page's comments state")

-- The page's kernel takes its layouts from the launch.
local with_layouts = kernel("with_layouts", function(A, sA_layout, tA, B, sB_layout, tB, C, tC)
  local bM, bN, bK = size(sA_layout, 0), size(sB_layout, 0), size(sA_layout, 1)
  local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
  local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
  local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
  local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
  local tCgC = parallelize(tile(C, {bM, bN}, {blockIdx.x, blockIdx.y}), tC, threadIdx.x)
  local tCrC = fragment_like(tCgC)
  clear(tCrC)
  for k in axes(gA, 2) do
    copy(parallelize(gA(_, _, k), tA, threadIdx.x), parallelize(sA, tA, threadIdx.x))
    copy(parallelize(gB(_, _, k), tB, threadIdx.x), parallelize(sB, tB, threadIdx.x))
    cp_async_wait(0)
    sync_threads()
    gemm(tCsA, tCsB, tCrC)
    sync_threads()
  end
  copy(tCrC, tCgC)
end)
local D = zeros(f32, {M, N})
with_layouts(config)(A, sA_layout, tA, B, sB_layout, tB, D, tC)
tap.ok(allclose(D, want), "layouts of threads and of shared memory are arguments of the launch")

-- {====== What the page says of speed ======

local function report_of(k, ...) return profile(k:prepare(config)(...)).kernels[1] end
local C = zeros(f32, {M, N})
local totals = report_of(by_gemm, A, B, C).totals
tap.is(totals.shared_load_conflicts, 0, "no reads of the padded tiles meet in a bank")
local worst = 0
for _, line in ipairs(report_of(by_gemm, A, B, C).lines) do
  for _, access in ipairs(line.accesses) do
    if access.tensor == "A" or access.tensor == "B" then
      worst = math.max(worst, access.sectors / access.requests)
    end
  end
end
tap.is(worst, 4, "neighbouring threads read neighbours: 32 lanes take 4 sectors")

-- {====== What the page needs beside it ======

local wrong, why = pcall(by_gemm(config), rand(f32, {M - 4, K}), B, C)
tap.ok(not wrong and why:find "extent 60 .* not a multiple",
  "sizes that no tile divides are refused", why)
local view_of_nothing = view(rand(f32, {4, 4}), layout(16))
collectgarbage()
tap.ok(view_of_nothing[15] < 1, "a view keeps its tensor alive: nothing needs to be preserved")
tap.ok(pcall(by_gemm(config), A, B, C), "plain tensors are arguments: none has to be wrapped")
tap.ok(allclose(C, want, {rtol = 1e-5, atol = 1e-5}), "the test of the page: C is A times B'")
tap.is(reduce(arange(f32, 5), "add"), 10.0, "a sum is a reduction")
local doubled = zeros(f32, 4)
transform(arange(f32, 4), doubled, function(v) return 2 * v end)
tap.is(doubled[3], 6.0, "a map is a transform")
tap.is(text(recast(ones(f32, 4), u32).shape), "4", "the same bits as another type: recast")
tap.is(text(layout_like(layout{4, 4})), "(4,4):(1,4)", "similar to a layout is a compact one")
tap.done()
