-- What CuTe's tutorial on products shows, item by item: shapes and strides of a problem, tiles of a
-- block, shared memory, parts of threads, the main loop, tiled copies and MMAs, contractions.
device("cpu")
local tap = dofile "tests/support/tap.lua"
local M, N, K = 64, 64, 32
local bM, bN, bK = 32, 32, 8
local tC = layout{8, 8}
local function text(x) return (tostring(x):gsub("%s+$", "")) end

-- {====== The problem ======

tap.is(rank{M, N, K}, 3, "the shape of a problem has three modes")
tap.is(table.concat(select({M, N, K}, 0, 2), " "), "64 32", "select takes M and K out of it")
tap.ok(congruent({M, K}, {1, M}) and not congruent({M, K}, {1, {2, M}}),
  "each extent needs a stride: shape and stride are congruent")
tap.is(text(L"(_4,_8):(_8,_1)"), "(4,8):(8,1)", "a layout as CuTe prints it can be pasted")
tap.is(text(layout({M, K}, {1, 68})), "(64,32):(1,68)",
  "A with M contiguous, and a leading dimension")
tap.is(text(layout({N, K}, {36, 1})), "(64,32):(36,1)", "B with K contiguous")
local majors = {NT = {0, 0}, TN = {1, 1}, NN = {0, 1}, TT = {1, 0}}
local made = {NT = {col_major, col_major}, TN = {row_major, row_major}, NN = {col_major, row_major},
              TT = {row_major, col_major}}
for _, name in ipairs{"NT", "TN", "NN", "TT"} do
  local a, b = made[name][1]{M, K}, made[name][2]{N, K}
  tap.ok(stride(a, majors[name][1]) == 1 and stride(b, majors[name][2]) == 1,
    name .. ": which mode has stride 1 is in the layouts")
end

-- {====== Tiles of a block ======

local tiler = {bM, bN, bK}
tap.is(text(tile(layout{M, K}, tiler, {1, 0, _}, {1, _, 1}).shape), "(32,8,4)",
  "a projection takes M and K of the tile for A")
tap.is(text(tile(layout{N, K}, tiler, {1, 0, _}, {_, 1, 1}).shape), "(32,8,4)", "N and K for B")
tap.is(text(tile(layout{M, N}, tiler, {1, 0, _}, {1, 1, _}).shape), "(32,32)", "M and N for C")
local divided = zipped_divide(layout{M, K}, {bM, bK})
tap.is(text(divided), "((32,8),(2,4)):((1,64),(32,512))", "first the tensor is divided")
tap.is(text(tile(layout{M, K}, {bM, bK}, {1, _})), "(32,8,4):(1,64,512)",
  "then a coordinate of the rest takes tiles out")
tap.is(size(divided({0, 0}, {0, _})), 4, "with _ it keeps the mode of tiles")

-- {====== Shared memory and copies ======

tap.is(text(layout{bM, bK}), "(32,8):(1,32)", "a tile with M contiguous")
tap.is(text(row_major{bM, bK}), "(32,8):(8,1)", "or K")
tap.is(cosize(layout({bM, bK}, {1, bM + 1})), 7 * 33 + 32,
  "an array is as long as the layout's cosize")
tap.ok(size(layout{bM, bK}, 0) == tiler[1] and size(layout{bM, bK}, 1) == tiler[3],
  "its sizes are those of the tile")
tap.ok(evenly_divides({bM, bK}, {8, 8}), "threads must divide the tile")
tap.is(text(parallelize(layout{128, 8}, layout{32, 8}, 0).shape), "(4,1)",
  "32x8 threads give each 4x1 of 128x8")

local function run(f, block, ...)
  kernel("k", f, {static_shapes = true}){grid = 1, block = block}(...)
end
local A, B = rand(f32, {M, K}), rand(f32, {N, K})
local want = reference.matmul(A, B)
local small = zeros(f32, {bM, bK})
run(function(A, out)
  local sA = shared(f32, {bM, bK})
  if threadIdx.x == 0 then
    local gA0 = tile(A, {bM, bK}, {0, 0})
    for i in range(size(sA)) do sA[i] = gA0[i] end
    for i in range(size(sA)) do out[i] = sA[i] end
  end
end, 64, A, small)
local same = true
for i = 0, bM - 1 do same = same and small(i, 3) == A(i, 3) end
tap.ok(same, "one thread copies a tile element by element")

-- {====== The kernel of sgemm_1 ======

local seen = {}
local function gemm_device(name, tA, tB, sA_layout, sB_layout)
  return kernel(name, function(alpha, A, B, beta, C)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    assert(size(tAgA, 0) == size(tAsA, 0) and size(tCrC, 0) == size(tCsA, 0)
      and size(tCrC, 1) == size(tCsB, 0) and size(tCsA, 1) == size(tCsB, 1))
    seen.shapes = ("%s %s %s"):format(text(tCsA.shape), text(tCsB.shape), text(tCrC.shape))
    clear(tCrC)
    for k_tile in axes(tAgA, 2) do
      copy(tAgA(_, _, k_tile), tAsA)
      copy(tBgB(_, _, k_tile), tBsB)
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    axpby(alpha, tCrC, beta, tCgC)
  end)
end
local config = {grid = cdiv({M, N}, {bM, bN}), block = size(tC)}
local function is_right(k, a, b)
  local C = full(f32, {M, N}, 1)
  k(config)(2.0, a, b, 0.5, C)
  local right = true
  local product = reference.matmul(a, b)
  for i = 0, size(C) - 1 do right = right and math.abs(C[i] - 2 * product[i] - 0.5) < 1e-4 end
  return right
end
local nt = gemm_device("nt", layout{8, 8}, layout{8, 8}, layout{bM, bK}, layout{bN, bK})
tap.ok(is_right(nt, A, B), "NT: the main loop copies, waits, multiplies, waits")
tap.is(seen.shapes, "(4,8) (4,8) (4,4)", "threads divide C; rows of tC divide A, its columns B")
local tn = gemm_device("tn", row_major{8, 8}, row_major{8, 8}, row_major{bM, bK}, row_major{bN, bK})
tap.ok(is_right(tn, rand(f32, row_major{M, K}), rand(f32, row_major{N, K})),
  "TN: only layouts of threads and of shared memory differ")
local uneven = gemm_device("uneven", layout{8, 8}, layout{8, 8}, layout{bM, bK}, layout{16, bK})
local fits, why = pcall(is_right, uneven, A, B)
tap.ok(not fits and why:find("assert", 1, true),
  "sizes that do not fit each other are refused", why)
local lone = zeros(f32, {bM, bN})
run(function(A, B, C)
  if threadIdx.x == 0 then
    local gA, gB = tile(A, {bM, bK}, {0, 0}), tile(B, {bN, bK}, {0, 0})
    for m in range(bM) do
      for n in range(bN) do
        for k in range(bK) do C[{m, n}] = C[{m, n}] + gA[{m, k}] * gB[{n, k}] end
      end
    end
  end
end, 64, A, B, lone)
local sum = 0
for k = 0, bK - 1 do sum = sum + A(3, k) * B(5, k) end
tap.ok(math.abs(lone(3, 5) - sum) < 1e-5, "one thread multiplies a tile by three loops")
local picture = show(parallelize(layout{bM, bN}, tC, 9), {text = true})
tap.is(select(2, picture:gsub("%[T9V%d+%]", "")), 16, "a picture of the part of C of one thread")
picture = show(parallelize(layout{bM, bK}, tC, 9, {1, _}), {text = true})
tap.is(select(2, picture:gsub("%[", "")), 32,
  "and of the rows of A that it reads")

local with_tiler = kernel("with_tiler", function(tiler, A, out)
  local gA = tile(A, tiler, {1, 0, 2}, {1, _, 1})
  if threadIdx.x == 0 then copy(gA, out) end
end, {static_shapes = true})
local part_of_A = zeros(f32, {bM, bK})
with_tiler{grid = 1, block = 32}(tiler, A, part_of_A)
tap.is(part_of_A(3, 4), A(bM + 3, 2 * bK + 4), "the tile's shape is an argument of the launch")

-- {====== sgemm_2: tiled copies and tiled MMAs ======

local wide = tiled_copy(atom("UniversalCopy<u128>", f32), layout{8, 8}, layout{4, 1})
tap.is(text(wide):match "tv (%S+)", "(64,4):(4,1)", "a tiled copy: threads, and values of each")
tap.ok(latex(wide):find("tikzpicture", 1, true), "it prints for LaTeX")
local mma = tiled_mma("UniversalFMA<f32>", {8, 8, 1})
tap.ok(mma.threads == 64 and latex(mma):find("tikzpicture", 1, true), "so does a tiled MMA")
local padded = layout({bM, bK}, {1, bM + 1})
local refused, reason = pcall(run, function(A)
  local sA, thr = shared(f32, padded), wide:get_slice(threadIdx.x)
  copy(wide, thr:partition_S(tile(A, {bM, bK}, {0, 0})), thr:partition_D(sA))
end, 64, A)
tap.ok(not refused and reason:find("copies 4 x f32 at once", 1, true),
  "a copy that cannot be 16 bytes wide says why", reason)
local by_atoms = kernel("by_atoms", function(alpha, A, B, beta, C)
  local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
  local sA, sB = shared(f32, layout{bM, bK}), shared(f32, layout{bN, bK})
  local thr, thr_mma = wide:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
  local tAgA, tAsA = thr:partition_S(gA), thr:partition_D(sA)
  local tBgB, tBsB = thr:partition_S(gB), thr:partition_D(sB)
  local tArA, tBrB = fragment_like(tAsA), fragment_like(tBsB)
  local tCsA, tCsB = thr_mma:partition_A(sA), thr_mma:partition_B(sB)
  local tCgC = thr_mma:partition_C(gC)
  local tCrC = thr_mma:fragment_C(tCgC)
  seen.copies, seen.mma = text(tAsA.shape), text(tCsA.shape) .. " " .. text(tCrC.shape)
  clear(tCrC)
  for k_tile in axes(tAgA, 3) do
    copy(wide, tAgA(_, _, _, k_tile), tArA)
    copy(wide, tBgB(_, _, _, k_tile), tBrB)
    sync_threads()
    copy(tArA, tAsA)
    copy(tBrB, tBsB)
    sync_threads()
    gemm(mma, tCsA, tCsB, tCrC)
  end
  axpby(alpha, tCrC, beta, tCgC)
end)
tap.ok(is_right(by_atoms, A, B), "a product by them, through registers")
tap.is(seen.copies, "((4,1),1,1)", "the first mode is what one instruction copies")
tap.is(seen.mma, "(1,4,8) (1,4,4)", "or multiplies, then come the repetitions")

-- {====== Pipelines, edges, contractions ======

local function in_flight(name, main_loop)
  return kernel(name, function(A, B, C)
    local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
    local sA, sB = shared(f32, layout{bM, bK, 3}), shared(f32, layout{bN, bK, 3})
    local tAgA, tAsA = parallelize(gA, tC, threadIdx.x), parallelize(sA, tC, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tC, threadIdx.x), parallelize(sB, tC, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
    local tCgC = parallelize(tile(C, {bM, bN}, {blockIdx.x, blockIdx.y}), tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)
    main_loop(size(tAgA, 2), function(k, slot)
      copy(tAgA(_, _, k), tAsA(_, _, slot))
      copy(tBgB(_, _, k), tBsB(_, _, slot))
    end, tCsA, tCsB, tCrC)
    copy(tCrC, tCgC)
  end)
end
local function by_pipeline(k_tiles, load, tCsA, tCsB, tCrC)
  pipeline(k_tiles, {stages = 3, load = load, compute = function(slot)
    gemm(tCsA(_, _, slot), tCsB(_, _, slot), tCrC)
  end})
end
local function by_hand(k_tiles, load, tCsA, tCsB, tCrC)
  for slot = 0, 1 do
    load(slot, slot)
    cp_async_commit()
  end
  local read, write = 0, 2
  local tCsA_p, tCsB_p = tCsA(_, _, 0), tCsB(_, _, 0)       -- of the slot that is read
  for k_tile in range(k_tiles) do
    cp_async_wait(1)
    sync_threads()
    load(min(k_tile + 2, k_tiles - 1), write)
    cp_async_commit()
    gemm(tCsA_p, tCsB_p, tCrC)
    write, read = read, where(read == 2, 0, read + 1)
    tCsA_p, tCsB_p = tCsA(_, _, read), tCsB(_, _, read)
  end
end
local loops = {{"pipeline keeps tiles in flight", by_pipeline},
               {"so does a loop by hand that carries the tiles of a slot", by_hand}}
for _, row in ipairs(loops) do
  local C = zeros(f32, {M, N})
  in_flight("in_flight", row[2])(config)(A, B, C)
  tap.ok(allclose(C, want), row[1])
end

local odd = rand(f32, {M - 3, K})
local guarded = kernel("guarded", function(x, y)
  local part = tile(guard(x), {bM, bK}, {blockIdx.x, blockIdx.y})
  local to = tile(guard(y), {bM, bK}, {blockIdx.x, blockIdx.y})
  copy(parallelize(part, tC, threadIdx.x), parallelize(to, tC, threadIdx.x))
end)
local edge = zeros(f32, {M - 3, K})
guarded{grid = {cdiv(M - 3, bM), cdiv(K, bK)}, block = 64}(odd, edge)
tap.ok(allclose(edge, odd), "a guard lets tiles reach over the edge")
local picked = zeros(f32, 64)
run(function(x, y)
  local from, to = tile(x, {1}, {threadIdx.x}), tile(y, {1}, {threadIdx.x})
  copy_if(function() return threadIdx.x < 40 end, from, to)
end, 64, ones(f32, 64), picked)
tap.ok(picked[39] == 1 and picked[40] == 0, "copy_if copies where a predicate holds")

-- A contraction with two modes in M: sgemm_1's kernel as it is, with nested layouts and tile.
local m0, m1 = 16, 4
local gett_A = rand(f32, layout({{m0, m1}, K}, {{1, m0 + 4}, (m0 + 4) * m1}))
local gett_C = zeros(f32, layout({{m0, m1}, N}, {{1, m0 + 4}, (m0 + 4) * m1}))
bM = {8, 4}
local gett = gemm_device("gett", layout{8, 8}, layout{8, 8}, layout{bM, bK}, layout{bN, bK})
gett{grid = {size(cdiv({m0, m1}, bM)), cdiv(N, bN)}, block = 64}(1.0, gett_A, B, 0.0, gett_C)
local flat = zeros(f32, {m0 * m1, K})
copy(gett_A, flat)
local product, right = reference.matmul(flat, B), true
for i = 0, size(product) - 1 do right = right and math.abs(product[i] - gett_C(i)) < 1e-4 end
tap.ok(right, "two modes in M: the kernel of sgemm_1 contracts tensors as it is")
tap.is(size(cdiv({m0, m1}, bM)), 2, "its grid is the quotient of the modes")
local by_operator = zeros(f32, gett_C.layout)
matmul(gett_A, B, by_operator)
right = true
for i = 0, size(product) - 1 do right = right and math.abs(product[i] - by_operator(i)) < 1e-4 end
tap.ok(right, "so does matmul, which takes these tensors as they are")
tap.done()
