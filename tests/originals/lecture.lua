-- What the lecture on CuTe shows, and what its audience asks, item by item: layouts and tensors,
-- folding, the algebra, one copy and one product for all, partitions, atoms.
device("cpu")
local tap = dofile "tests/support/tap.lua"
local function text(x) return (tostring(x):gsub("%s+$", "")) end
local function values_of(l)
  local list = {}
  for i = 0, size(l) - 1 do list[#list + 1] = l(i) end
  return table.concat(list, " ")
end
local function run(f, grid, block, ...)
  kernel("k", f, {static_shapes = true}){grid = grid, block = block}(...)
end

-- {====== Loops, layouts, tensors ======

local strided = true
for i = 0, 16 do strided = strided and 14 + L"17:21"(i) == 7 * (2 + 3 * i) end
tap.ok(strided, "a loop with a step is 17 elements with a stride, from a base")
local loop = view(arange(i32, 400), L"17:21", 14)
tap.is(loop[16], 14 + 16 * 21, "which a view at an offset has")
tap.is(values_of(L"(4,20):(20,1)"), values_of(row_major{4, 20}), "two nested loops are a matrix")
tap.is(text(layout{2, 3}), "(2,3):(1,2)", "column-major")
tap.is(text(row_major{2, 3}), "(2,3):(3,1)", "row-major")
tap.is(cosize "(2,3):(1,4)", 10, "padded column-major: places that nothing uses")
tap.is(L"(2,3,2):(3,1,6)"(1, 2, 1), 3 + 2 + 6, "rank three: a stride for each mode")
tap.is(crd2idx({1, 2, 1}, {2, 3, 2}, {3, 1, 6}), 11,
  "an offset is the inner product with the strides")

local matrix = arange(i32, {22, 19})
tap.is(rank(matrix), 2, "a matrix has rank 2")
tap.is(size(matrix, 0), 22, "the size of a mode")
tap.is(text(matrix.layout), "(22,19):(1,22)", "a shape alone means column-major")
for i = 0, 21 do
  for j = 0, 18 do matrix[{i, j}] = i - j end
end
tap.is(matrix[{21, 18}], 3, "two loops fill it")
local known = {}
run(function(t)
  known.size, known.stride = size(t, 0), text(stride(t))
  assert(known.size == 22)
  t[threadIdx.x] = size(t, 0)
end, 1, 1, matrix)
tap.is(known.size, 22, "a static extent is a number while the kernel is traced")
tap.is(known.stride, "(1,22)", "and so are the strides that follow from it")
local unknown
kernel("printed", function(t)
  unknown = text(t.layout)
  t[threadIdx.x] = 0
end){grid = 1, block = 1}(matrix)
tap.is(unknown, "(?,?):(1,?)", "asked: what only the launch knows prints as ?")
local k = kernel("strides", function(t) t[{1, threadIdx.x}] = t[{1, threadIdx.x}] + 1 end)
local config = {grid = 1, block = 8}
tap.ok(k(config):source(matrix):find("t_stride1", 1, true),
  "a stride of the launch is computed with")
local static = kernel("strides", function(t) t[{1, threadIdx.x}] = t[{1, threadIdx.x}] + 1 end,
  {static_shapes = true})
tap.ok(static(config):source(matrix):find("* 22", 1, true),
  "a static one is a constant of the code")
tap.is(text(col_major{2, 3}) .. " " .. text(row_major{2, 3}), "(2,3):(1,2) (2,3):(3,1)",
  "from the left and from the right")

-- {====== Folding ======

local cube = layout({2, 2, 2}, {4, 1, 2})
tap.is(text(group_modes(cube, 1, 3)), "(2,(2,2)):(4,(1,2))", "a tensor of 2x2x2 folds to 2x4")
tap.is(text(coalesce(group_modes(cube, 1, 3), {1, 1})), "(2,4):(4,1)",
  "whose columns have one stride")
local tall = group_modes(select(cube, 0, 1, 2), 0, 2)
tap.is(text(tall), "((2,2),2):((4,1),2)", "and to 4x2")
tap.is(text(coalesce(tall, {1, 1})), text(tall), "whose rows have none: the mode stays nested")
tap.is(tall(3, 1), tall({1, 1}, 1), "a plain index finds its place in a nested mode")
tap.is(text(coalesce "(2,2):(1,2)"), "4:1", "2 by 2 with strides 1 and 2 is 4 with stride 1")
tap.ok(congruent(tall.shape, tall.stride) and not congruent({4, 2}, tall.stride),
  "shape and stride have the same nesting")
tap.is(depth(tall), 2, "depth says how deep it is")
tap.is(text(identity_layout{4, 8}), "(4,8):(1@0,1@1)",
  "strides can be anything with an inner product")
tap.is(text(layout({4, 8}, {E(0), E(1)})(2, 3)), "(2,3)",
  "such as those that answer with coordinates")

-- {====== The algebra, at a glance ======

tap.is(text(concat("2:1", "3:2")), "(2,3):(1,2)", "concatenate")
tap.is(text(composition("(6,2):(8,2)", "(4,3):(3,1)")), "((2,2),3):((24,2),8)", "compose")
local l = row_major{2, 4}
local right, left = right_inverse(l), left_inverse(l)
local ok = true
for i = 0, 7 do ok = ok and l(right(i)) == i and left(l(i)) == i end
tap.ok(ok, "invert from the right and from the left")
tap.is(text(complement("4:2", 16)), "(2,2):(1,8)", "complement: what a layout leaves out")
tap.is(text(logical_product("(2,2):(4,1)", "6:1")), "((2,2),(2,3)):((4,1),(2,8))",
  "a product: a layout of layouts")
tap.is(text(logical_divide("16:1", "4:2")), "(4,(2,2)):(2,(1,8))",
  "a division: the elements of another layout, and the rest")

-- {====== Layouts of 4x8, with names and without ======

local shapes = {"(4,8):(1,4)", "(4,8):(8,1)", "(4,8):(1,5)", "((2,2),8):((1,16),2)",
                "((2,2),(4,2)):((2,8),(4,1))"}
ok = true
for _, s in ipairs(shapes) do
  ok = ok and size(s, 0) == 4 and size(s, 1) == 8 and type(L(s)(3, 7)) == "number"
end
tap.ok(ok, "whatever the strides are, it is a matrix of 4x8 for whoever indexes it")
local odd = composition(swizzle(3, 3, 3), layout({8, {8, 8}}, {8, {1, 64}}))
tap.is(text(odd), "Sw<3,3,3> o 0 o (8,(8,8)):(8,(1,64))", "swizzles go beyond strides")
tap.is(text(tile_to_shape(odd, {128, 64}).shape), "((8,16),((8,8),1))",
  "a small layout tiles a large shape")
tap.ok(latex(odd):find("tikzpicture", 1, true), "and prints for LaTeX")
tap.is(text(L"Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"),
  "Sw<3,3,3> o 0 o (8,64):(64,1)", "a tensor of 16 bits in shared memory, as CuTe prints it")
local order = {}
for i = 0, 5 do order[#order + 1] = text(idx2crd(i, {2, 3})) end
tap.is(table.concat(order, " "), "(0,0) (1,0) (0,1) (1,1) (0,2) (1,2)",
  "asked: indices count the first mode first")

local small = layout{2, 2}
local morton = blocked_product(blocked_product(small, small), small)
tap.is(text(coalesce(morton, {1, 1})), "((2,2,2),(2,2,2)):((1,4,16),(2,8,32))",
  "Morton's order is a product of products")
tap.is(text(morton(7, 7)), "63", "of 8x8")
local spots = {}
for i = 0, 63 do if morton(i) == 49 then spots[1] = i end end
local crd = idx2crd(spots[1], {8, 8})
tap.is(text(crd), "(5,4)", "position 49 is row 5, column 4")
tap.is(morton(5, 4), 49, "by row and column")
tap.is(morton(spots[1]), 49, "by one number")
tap.is(morton(idx2crd(spots[1], morton.shape)), 49, "by the whole nested coordinate")
tap.is(values_of(slice({_, 2}, morton)), "0 1 4 5 16 17 20 21", "a column is a layout, too")
tap.is(select(2, slice_and_offset({_, 2}, morton)), morton(0, 2), "with an offset")
tap.ok(compatible("24", "(4,6)") and compatible("(4,6)", "((2,2),6)")
  and not compatible("(4,6)", "24") and not compatible("(4,6)", "(6,4)"),
  "shapes are ordered by what can index what")

-- {====== One copy for all ======

local function copied(src, dst)
  run(function(x, y) copy(x, y) end, 1, 1, src, dst)
  local same = size(src) == size(dst)
  for i = 0, size(src) - 1 do same = same and src(i) == dst(i) end
  return same
end
local numbers = arange(f32, 64)
tap.ok(copied(arange(f32, 8), zeros(f32, 8)), "copy a vector")
tap.ok(copied(arange(f32, {2, 2, 3}), zeros(f32, row_major{2, 2, 3})), "a tensor of rank 3")
tap.ok(copied(arange(f32, {8, 3}), zeros(f32, 24)), "tensors of different ranks")
tap.ok(copied(view(numbers, layout(8, 5)), zeros(f32, 8)), "gather elements that lie apart")
tap.ok(copied(arange(f32, 8), view(zeros(f32, 64), layout(8, 7))), "scatter them")
tap.ok(copied(view(numbers, layout(8, 0)), zeros(f32, 8)), "broadcast: a stride of 0")
tap.ok(copied(view(numbers, layout(8, 0)), view(zeros(f32, 8), layout(8, 0))),
  "one constant to another")
tap.ok(copied(arange(f32, {8, 3}), zeros(f32, row_major{8, 3})), "transpose: the layouts do it")

local flat, plane_of_8 = zeros(i32, 24), arange(i32, {8, 3})
copy(plane_of_8, flat)
tap.is(flat[23], plane_of_8[{7, 2}], "the host's copy is the same: any ranks, one size")

-- Four ways to take a tile of 4x8, four layouts of shared memory: one copy.
local tilings = {{4, 8}, {"4:2", "8:1"}, {"4:1", "8:2"}, {"(2,2):(1,4)", "8:1"}}
local all_right = true
for _, tiler in ipairs(tilings) do
  for _, s in ipairs{"(4,8):(1,4)", "(4,8):(8,1)", "(4,8):(1,5)", "((2,2),8):((1,16),2)"} do
    local src, dst = arange(f32, {16, 16}), zeros(f32, {4, 8})
    run(function(x, y)
      local staged = shared(f32, L(s))
      copy(tile(x, tiler, {0, 0}), staged)
      cp_async_wait(0)
      copy(staged, y)
    end, 1, 1, src, dst)
    local part = zipped_divide(src, tiler)
    for i = 0, 31 do all_right = all_right and dst(i) == part(i, 0) end
  end
end
tap.ok(all_right, "four tilings times four layouts of shared memory: one copy")
tap.is(max_common_vector("(4,8):(1,4)", "(4,8):(1,8)"), 4,
  "what two layouts share says how wide it is")
tap.is(max_common_vector("(4,8):(8,1)", "(4,8):(1,4)"), 1,
  "neighbours in one that are none in the other")
tap.is(text(max_common_layout("(4,8):(1,4)", "(4,8):(1,8)")), "4:1", "the common layout itself")
local findings = require "cuttle.check".run(function()
  run(function(y)
    local s = shared(f32, 32)
    s[threadIdx.x] = 1.0
    y[threadIdx.x] = s[31 - threadIdx.x]
  end, 1, 32, zeros(f32, 32))
end)
tap.is(#findings, 1, "asked: whether a copy races is checked")

-- {====== One product for all ======

local function product_is_right(A, B, C)
  run(function(a, b, c) gemm(a, b, c) end, 1, 1, A, B, C)
  local right = true
  for m = 0, size(C, 0) - 1 do
    for n = 0, size(C, 1) - 1 do
      local sum = 0.0
      for kk = 0, size(A, 1) - 1 do sum = sum + A(m, kk) * B(n, kk) end
      right = right and math.abs(C(m, n) - sum) < 1e-4
    end
  end
  return right
end
local majors = {NT = {col_major, col_major}, TN = {row_major, row_major},
                NN = {col_major, row_major}, TT = {row_major, col_major}}
for _, name in ipairs{"NT", "TN", "NN", "TT"} do
  local a, b = majors[name][1], majors[name][2]
  tap.ok(product_is_right(rand(f32, a{4, 3}), rand(f32, b{5, 3}), zeros(f32, {4, 5})),
    name .. " differs in strides alone")
end
tap.ok(product_is_right(rand(f32, {4, 3}), rand(f32, {5, 3}), zeros(f32, row_major{4, 5})),
  "a transposed C as well")
tap.ok(product_is_right(view(rand(f32, 64), layout({4, 3}, {2, 9})), rand(f32, {5, 3}),
  zeros(f32, {4, 5})), "strides along both modes")
tap.ok(product_is_right(rand(f32, layout({{2, 2}, 3}, {{6, 1}, 2})), rand(f32, {5, 3}),
  zeros(f32, {{2, 2}, 5})), "nested modes: a tensor contraction is a product")
-- By the operator, too: "ikjl,lkm->ijm" in one line, and a convolution of an image.
local ikjl, lkm = rand(f32, row_major{3, 5, 4, 6}), rand(f32, row_major{6, 5, 7})
local ijm = matmul(group_modes(group_modes(select(ikjl, 2, 0, 3, 1), 0, 2), 1, 3),
  group_modes(select(lkm, 2, 0, 1), 1, 3))
local sum_at = 0.0
for i = 0, 29 do
  sum_at = sum_at + ikjl[{2, i % 5, 3, i // 5}] * lkm[{i // 5, i % 5, 6}]
end
tap.ok(math.abs(ijm[{3 + 4 * 2, 6}] - sum_at) < 1e-5, "matmul contracts tensors in one line")
local image, filters = rand(f32, {2, 9, 8}), rand(f32, {4, 18})      -- (channel,column,row)
local pixels = matmul(view(image, L"((7,6),(2,3,3)):((2,18),(1,2,18))"), filters)
local at_pixel = 0.0
for i = 0, 17 do
  local c, s, r = i % 2, i // 2 % 3, i // 6
  at_pixel = at_pixel + image[{c, 5 + s, 4 + r}] * filters[{3, i}]
end
tap.ok(math.abs(pixels[{5 + 7 * 4, 3}] - at_pixel) < 1e-5, "and convolves an image by its windows")
-- A convolution of 8 numbers by a filter of 3: windows that overlap are a layout.
local signal, filter_of_3, out = arange(f32, 8), ones(f32, {1, 3}), zeros(f32, {6, 1})
local windows = layout({6, 3}, {1, 1})
run(function(x, w, y) gemm(view(x, windows), w, y) end, 1, 1, signal, filter_of_3, out)
tap.is(out(5, 0), 5 + 6 + 7, "a convolution is a product of a layout whose windows overlap")

-- {====== Composition and partitions ======

local A, B = L"(6,2):(8,2)", L"(4,3):(3,1)"
local R = composition(A, B)
ok = true
for i = 0, size(B) - 1 do ok = ok and R(i) == A(B(i)) end
tap.ok(ok and compatible(B.shape, R.shape),
  "composition: R(c) is A(B(c)), and takes B's coordinates")
local tv = layout({{2, 2}, {2, 3}}, {{2, 12}, {1, 4}})
local own = {}
for v = 0, 5 do own[#own + 1] = tv(0, v) end
tap.is(table.concat(own, " "), "0 1 4 5 8 9", "the elements of thread 0 are a layout")
own = {}
for t = 0, 3 do own[#own + 1] = tv(t, 0) end
tap.is(table.concat(own, " "), "0 2 12 14", "where each thread begins is a layout")
tap.is(tv(2, 3), 17, "thread 2 and value 3 are coordinate 17")
local vector = arange(i32, layout(24, 3))
local parts = composition(vector, tv)
local mine = parts(1, _)
own = {}
for v = 0, 5 do own[#own + 1] = mine(v) end
tap.is(table.concat(own, " "), "2 3 6 7 10 11", "a partition is a composition and a slice")
local plane = composition(arange(i32, row_major{4, 6}), tv)
tap.is(size(plane(1, _)), 6, "of a tensor of any rank, which is a vector as well")
local ragged = zeros(f32, 10)
kernel("ragged", function(x)
  local part = tile(guard(x), {4}, {blockIdx.x})
  for i = 0, 3 do part[i] = 1.0 end
end){grid = cdiv(10, 4), block = 1}(ragged)
local sum = 0
for i = 0, 9 do sum = sum + ragged[i] end
tap.is(sum, 10, "asked: what if it does not divide? A guard knows which elements there are")

-- {====== Atoms ======

local volta = atom"SM70_8x8x4_F32F16F16F32_TN"
tap.is(text(volta.layout_c), "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))",
  "Volta's: threads and values of C")
tap.is(text(volta.thr_id), "(4,2):(1,16)", "and which threads of a warp they are")
tap.is(text(atom"UniversalFMA<f32>".shape), "(1,1,1)", "a multiply-add is an atom of 1x1x1")
tap.is(text(atom"SM61_DP4A".layout_a), "(1,4):(0,1)", "dp4a takes four along K")
tap.is(text(atom"SM80_8x8x4_F64F64F64F64_TN".layout_c), "((4,8),2):((16,1),8)", "Ampere's in f64")
tap.is(text(atom"SM80_16x8x8_F32F16F16F32_TN".layout_a), "((4,8),(2,2)):((32,1),(16,8))",
  "Ampere's 16x8x8: threads and values of A")
local hopper = atom"SM90_64x128x16_F32F16F16_SS"
tap.is(text(hopper.layout_c), "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))",
  "Hopper's partitions C alone")
tap.is(stride(hopper.layout_a, 0), 0, "A and B are for all threads: descriptors of shared memory")
local mma = tiled_mma("SM80_16x8x8_F32F16F16F32_TN", {2, 2})
tap.is(mma.threads, 128, "2x2 atoms of a warp are four warps")
local by_rows = tiled_mma("SM80_16x8x8_F32F16F16F32_TN", row_major{2, 2})
tap.ok(text(mma) ~= text(by_rows) and mma.threads == by_rows.threads, "atoms by rows as well")
local permuted = tiled_mma("SM70_8x8x4_F32F16F16F32_TN", {2, 2}, {L"(4,4,2):(1,8,4)", 32, 4})
tap.ok(text(permuted):find("(4,4,2):(1,8,4)", 1, true),
  "M permuted: a thread's values come together")
tap.is(show(mma, {text = true, thread = 24}):find("[T24", 1, true) ~= nil, true,
  "a picture marks what thread 24 has")

local right_mma = {}
local half = kernel("half", function(A, B, C)
  local thr = tiled_mma("SM80_16x8x8_F32F16F16F32_TN", {2, 2}):get_slice(threadIdx.x)
  local sA, sB = shared(f16, row_major{32, 8}), shared(f16, row_major{16, 8})
  for i = threadIdx.x, size(A) - 1, 128 do sA[i] = A[i] end
  for i = threadIdx.x, size(B) - 1, 128 do sB[i] = B[i] end
  sync_threads()
  local tCsA, tCsB, tCgC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(C)
  local tCrA, tCrB, tCrC = thr:fragment_A(tCsA), thr:fragment_B(tCsB), thr:fragment_C(tCgC)
  right_mma.shapes = text(tCrA.shape) .. " " .. text(tCrB.shape) .. " " .. text(tCrC.shape)
  copy(tCsA, tCrA)
  copy(tCsB, tCrB)
  clear(tCrC)
  gemm(mma, tCrA, tCrB, tCrC)
  copy(tCrC, tCgC)
end, {static_shapes = true})
local hA, hB, hC = randn(f16, row_major{32, 8}), randn(f16, row_major{16, 8}), zeros(f32, {32, 16})
half{grid = 1, block = 128}(hA, hB, hC)
tap.ok(allclose(hC, reference.matmul(hA, hB)),
  "partition, copy, multiply: a product on tensor cores")
tap.is(right_mma.shapes, "((2,2),1,1) (2,1,1) ((2,2),1,1)",
  "each fragment has the shape of its part")
local ldsm = atom("SM75_U32x4_LDSM_N", f16)
tap.ok(text(ldsm.src) ~= text(ldsm.dst), "ldmatrix gives elements to other threads than read them")
tap.ok(text(tiled_copy_A(ldsm, tiled_mma("SM80_16x8x16_F32F16F16F32_TN"))):find("LDSM", 1, true),
  "a tiled copy of it fits an MMA")
local box = kernel("box", function(A, B)
  local sA, bar = shared(f32, {8, 8}), mbarrier(1, 1)
  local tA = tile(tma_tensor(A), {8, 8}, {0, 0})
  if threadIdx.x == 0 then
    bar:arrive_expect_tx(sA)
    tma_load(tA, sA, bar)
  end
  bar[0]:wait(0)
  if threadIdx.x == 0 then copy(sA, B) end
end, {static_shapes = true})
local from, to = arange(f32, {16, 16}), zeros(f32, {8, 8})
box{grid = 1, block = 32}(from, to)
tap.is(to(7, 7), from(7, 7), "asked: TMA's descriptor is derived from the layouts")
tap.is(text(tile(identity_tensor{6, 8}, {2, 4}, {2, 1})(1, 3)), "(5,7)",
  "asked: a tensor need not have memory, it can answer with coordinates")

-- {====== What is built of it ======

local bA, bB = randn(bf16, row_major{64, 32}), randn(bf16, row_major{32, 32})
local bC = zeros(f32, {64, 32})
matmul(bA, bB, bC)
tap.ok(allclose(bC, reference.matmul(bA, bB)), "a product of the library: any strides and types")
local ends, grouped = from_table(i32, {40, 64}), zeros(f32, {64, 32})
local weights = randn(bf16, layout({32, 32, 2}, {32, 1, 1024}))
matmul(bA, weights, grouped, {groups = ends})
tap.ok(allclose(grouped, reference.matmul(bA, weights, {groups = ends})), "grouped products")
local Q, K = randn(f32, row_major{1, 2, 16, 32}), randn(f32, row_major{1, 2, 16, 32})
tap.ok(allclose(attention(Q, K, K), reference.attention(Q, K, K), {atol = 1e-3}), "attention")
tap.done()
