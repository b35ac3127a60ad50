-- A kernel that is partitioned by a tiled MMA and tiled copies, as CuTe's sgemm_2: the thread's number is
-- a run-time value there.
device "cpu"
local bM, bN, bK = 32, 32, 8
local mma = tiled_mma("UniversalFMA<f32>", { 8, 8 })
local copy_a = tiled_copy(atom("UniversalCopy<u128>", f32), "(8,8)", "(4,1)")
local layouts = {}

local sgemm = kernel("sgemm_tiles", function(A, B, C)
  local sA, sB = shared(f32, { bM, bK }), shared(f32, { bN, bK })
  local gA, gB = tile(A, { bM, bK }, { blockIdx.x, _ }), tile(B, { bN, bK }, { blockIdx.y, _ })
  local gC = tile(C, { bM, bN }, { blockIdx.x, blockIdx.y })
  local thr, thr_copy = mma:get_slice(threadIdx.x), copy_a:get_slice(threadIdx.x)
  local tAgA, tAsA = thr_copy:partition_S(gA), thr_copy:partition_D(sA)
  local tBgB, tBsB = thr_copy:partition_S(gB), thr_copy:partition_D(sB)
  local tCsA, tCsB, tCgC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(gC)
  local tCrC = thr:fragment_C(tCgC)
  layouts = { tAgA.layout, tAsA.layout, tCsA.layout, tCrC.layout }
  clear(tCrC)
  for k in axes(tAgA, 3) do
    copy(tAgA(_, _, _, k), tAsA)
    copy(tBgB(_, _, _, k), tBsB)
    sync_threads()
    gemm(tCsA(0, _, _), tCsB(0, _, _), tCrC(0, _, _))
    sync_threads()
  end
  copy(tCrC, tCgC)
end)

local A, B, C = rand(f32, { 64, 24 }), rand(f32, { 96, 24 }), zeros(f32, { 64, 96 })
sgemm { grid = { 2, 3 }, block = 64 }(A, B, C)
print(allclose(C, reference.matmul(A, B)))  -- expect: true
print(table.unpack(layouts, 2, 4))  -- expect: ((4,1),1,1):((1,0),0,0)	(1,4,8):(0,8,32)	(1,4,4):(0,1,4)

-- Each thread writes its number where the host says that the element is its own; the MMA is made in the
-- kernel, and shared memory is swizzled.
local function fill_numbers(name, options)
  local C = zeros(i32, { 64, 64 })
  kernel(name, function(C)
    local mma = tiled_mma(options[1], options[2], options[3])
    local s = shared(i32, composition(swizzle(2, 2, 3), layout { 64, 64 }))
    local thr = mma:get_slice(threadIdx.x)
    local mine, there = thr:partition_C(s), thr:partition_C(tile(C, { 64, 64 }, { 0, 0 }))
    for i = 0, size(mine) - 1 do mine[i] = threadIdx.x end
    sync_threads()
    copy(mine, there)
  end) { grid = 1, block = 128 }(C)
  local mma, right = tiled_mma(options[1], options[2], options[3]), true
  for i = 0, 127 do
    local part = mma:get_slice(i):partition_C(C)
    for j = 0, size(part) - 1 do right = right and part[j] == i end
  end
  return right
end

print(fill_numbers("warps", { "SM80_16x8x16_F32F16F16F32_TN", { 2, 2 }, { 32, 32, 16 } }))  -- expect: true
print(fill_numbers("threads", { "UniversalFMA<f32>", "(8,16):(16,1)" }))  -- expect: true
print(fill_numbers("group", { "SM90_64x64x16_F32F16F16_SS" }))  -- expect: true

-- A tensor whose extents a launch says is checked then.
local whole = kernel("whole", function(C)
  local mine = mma:get_slice(threadIdx.x):partition_C(C)
  mine[0] = 1
end)
whole { grid = 1, block = 64 }(zeros(f32, { 16, 24 }))
print(select(2, pcall(whole { grid = 1, block = 64 }, zeros(f32, { 16, 20 }))):match("tile: .*"))
-- expect: tile: extent 20 of mode 1 of C is not a multiple of the tile's 8; pad the tensor or write guard(C)
