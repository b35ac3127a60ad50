-- What the post on 2D blocktiling shows, item by item: layouts and tensors, tiles of a block, parts
-- of a thread, the sum of outer products, and the end with alpha and beta.
device("cpu")
local tap = dofile "tests/support/tap.lua"
local M, N, K = 64, 64, 32
local BM, BN, BK, TM, TN = 32, 32, 8, 4, 4
local n_threads <const> = (BM // TM) * (BN // TN)

local function text(x) return (tostring(x):gsub("%s+$", "")) end

-- {====== Layouts and tensors ======

local l = layout({2, 4}, {4, 1})
tap.is(text(l), "(2,4):(4,1)", "a layout is a shape and a stride")
local table_of = {}
for i = 0, 1 do
  for j = 0, 3 do table_of[#table_of + 1] = l(i, j) end
end
tap.is(table.concat(table_of, " "), "0 1 2 3 4 5 6 7", "it maps each coordinate to an offset")
tap.ok(row_major{2, 4} == l, "row_major writes the strides of the same layout")
local drawn = show(l, {text = true})
tap.ok(drawn:find "0 +1 +2 +3" and drawn:find "4 +5 +6 +7", "a table shows its values")
tap.is(cosize(row_major{BM, BK}), BM * BK, "cosize is how many elements a buffer needs")

local buffer = arange(i32, 8)
local t = view(buffer, l)
tap.is(t[{1, 2}], 6, "a tensor is a buffer with a layout")
tap.is(buffer[l(1, 2)], t[{1, 2}], "the layout computes the offset by hand as well")
tap.is(t(1, 2), 6, "a tensor is called with a coordinate")
buffer[6] = -1
tap.is(t[{1, 2}], -1, "a view shares the elements")

-- {====== Tiles of a block ======

local A, B = row_major{M, K}, row_major{K, N}
tap.is(text(zipped_divide(A, {BM, BK})), "((32,8),(2,4)):((32,1),(1024,8))",
  "a division gives a tile and the rest")
tap.is(text(zipped_divide(A, {BM, BK})(_, {1, 0})), "((32,8)):((32,1))",
  "a coordinate of the rest takes one tile out")
local page = html(zipped_divide(A, {BM, BK}))
tap.ok(page:find("mouseover", 1, true) and page:find("keydown", 1, true),
  "the picture of a division answers to the mouse, and to keys")
tap.is(text(tile(A, {BM, BK}, {1, _}).shape), "(32,8,4)", "A by blocks: a row of tiles along K")
tap.is(text(tile(B, {BK, BN}, {_, 1}).shape), "(8,32,4)", "B by blocks: a column of tiles along K")
tap.is(text(tile(row_major{M, N}, {BM, BN}, {1, 0})), "(32,32):(64,1)", "C by blocks: one tile")
tap.is(select(2, tile(row_major{M, N}, {BM, BN}, {1, 1})), 32 * 64 + 32,
  "and where it begins: what the post's pointers are advanced by")

-- {====== Parts of a thread ======

local tA = row_major{8, 8}
tap.is(text(parallelize(row_major{BM, BK}, tA, 9).shape), "(4,1)", "threads share out a tile of A")
tap.is(select(2, parallelize(row_major{BM, BK}, tA, 9)), 8 + 1,
  "thread 9 begins at its own place in the first part")
tap.is(select(2, parallelize(row_major{BM, BK}, tA, 1)), 1, "row-major threads: neighbours along K")
tap.is(select(2, parallelize(row_major{BM, BK}, layout{8, 8}, 1)), 8,
  "column-major threads: neighbours along M")
tap.is(text(parallelize(tile(A, {BM, BK}, {0, _}), tA, 0).shape), "(4,1,4)", "the mode k is kept")
local picture = show(parallelize(row_major{8, 8}, row_major{4, 4}, 5), {text = true})
tap.is(select(2, picture:gsub("%[T5V%d%]", "")), 4, "a picture marks the elements of one thread")
tap.is(text(tile(row_major{BM, BK}, {TM, 1}, {3, _}).shape), "(4,1,8)", "columns of A for a thread")
tap.is(text(tile(row_major{BK, BN}, {1, TN}, {_, 3}).shape), "(1,4,8)", "rows of B for a thread")
tap.is(text(tile(row_major{BM, BN}, {TM, TN}, {2, 5}).shape), "(4,4)",
  "the part of C that it writes")
tap.ok(svg(zipped_divide(row_major{BM, BK}, {TM, 1})):find("</svg>", 1, true),
  "a picture of the tiles of threads")

-- {====== The kernel, with what its steps are ======

local seen = {}
local sgemm = kernel("sgemm", function(alpha, A, B, beta, C)
  local sA, sB = shared(f32, row_major{BM, BK}), shared(f32, row_major{BK, BN})
  local gA = tile(A, {BM, BK}, {blockIdx.y, _})
  local gB = tile(B, {BK, BN}, {_, blockIdx.x})
  local gC = tile(C, {BM, BN}, {blockIdx.y, blockIdx.x})
  local tB = row_major{2, 32}
  local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
  local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
  local row, col = threadIdx.x // (BN // TN), threadIdx.x % (BN // TN)
  local tCsA, tCsB = tile(sA, {TM, 1}, {row, _}), tile(sB, {1, TN}, {_, col})
  local tCgC = tile(gC, {TM, TN}, {row, col})
  local tCrC = fragment_like(tCgC)
  local rA, rB = fragment(f32, TM), fragment(f32, TN)
  seen.sizes = {rank(gA), size(tCsA, 2), size(rA), size(tAsA), size(tCrC, 0), size(tCrC, 1)}
  seen.like = text(tCrC.shape)
  clear(tCrC)
  for k = 0, size(gA, 2) - 1 do
    local gA_k = tAgA(_, _, k)
    for i in unroll(0, size(tAsA)) do tAsA[i] = gA_k[i] end
    copy(tBgB(_, _, k), tBsB)
    cp_async_wait(0)
    sync_threads()
    for d = 0, BK - 1 do
      copy(tCsA(_, _, d), rA)
      copy(tCsB(_, _, d), rB)
      for i in axes(tCrC, 0) do
        for j in axes(tCrC, 1) do tCrC[{i, j}] = tCrC[{i, j}] + rA[i] * rB[j] end
      end
    end
    sync_threads()
  end
  for i in axes(tCrC, 0) do
    for j in axes(tCrC, 1) do tCgC[{i, j}] = alpha * tCrC[{i, j}] + beta * tCgC[{i, j}] end
  end
end)

local hA, hB, C = rand(f32, A), rand(f32, B), ones(f32, row_major{M, N})
local config = {grid = {N // BN, M // BM}, block = n_threads}
sgemm(config)(1.0, hA, hB, 0.0, C)
local want = reference.matmul(hA, select(hB, 1, 0))
tap.ok(allclose(C, want), "the sum of outer products is the product")
tap.is(table.concat(seen.sizes, " "), "3 8 4 4 4 4", "loops take their bounds from the tensors")
tap.is(seen.like, "(4,4)", "an accumulator is made like the part of C")
local before = C:to "cpu"
sgemm(config)(2.0, hA, hB, 0.5, C)
local ok = true
for i = 0, size(C) - 1 do ok = ok and math.abs(C[i] - (2 * want[i] + 0.5 * before[i])) < 1e-4 end
tap.ok(ok, "alpha and beta scale the product and what was there")
local source = sgemm(config):source(1.0, hA, hB, 0.0, C)
tap.ok(source:find("blocktiling.lua:%d+"), "each line of the CUDA C says which line it comes from")
tap.ok(source:find("float4", 1, true), "copy makes wide accesses by itself")
tap.ok(source:find "tCrC%[[%w_]+%] = fmaf%(rA%[i%], rB%[j%], tCrC%[[%w_]+%]%)",
  "the inner loop has no index to compute", source:match "\n[^\n]*rB[^\n]*tCrC[^\n]*")

-- The post's first figure.
local figure = html(sgemm:prepare(config)(1.0, hA, hB, 0.0, C))
tap.ok(figure:find('"tAgA"', 1, true) and figure:find("keydown", 1, true) and #figure < 200000,
  "the picture of a launch shows A, B, C and a thread's parts by their names")

-- The claim that row-major threads read neighbours, by counts.
local function sectors(threads)
  local x = zeros(f32, row_major{BM, 64})
  local k = kernel("read", function(x)
    local s = shared(f32, row_major{BM, BK})
    copy(parallelize(tile(x, {BM, BK}, {0, 1}), threads, threadIdx.x),
      parallelize(s, threads, threadIdx.x))
  end)
  local report = profile(k:prepare{grid = 1, block = 64}(x))
  for _, line in ipairs(report.kernels[1].lines) do
    for _, access in ipairs(line.accesses) do
      if access.op == "load" then return access.sectors // access.requests end
    end
  end
end
tap.is(sectors(row_major{8, 8}), 4, "row-major threads: 32 lanes take 4 sectors")
tap.is(sectors(layout{8, 8}), 8, "column-major threads: they take 8 and use half of each")
tap.done()
