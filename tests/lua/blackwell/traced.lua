-- trace follows an element of C through tensor memory to the row and the column that tcgen05 reads for it; a captured
-- launch runs again.
-- needs sm_100a
local function product(name)
  local mma = tiled_mma(name)
  local k = kernel("traced", function(A, B, C)
    local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), { 128, 32 }))
    local sB = shared(f16, tile_to_shape(gmma_layout(f16, "MN", 32), { 32, 32 }))
    local acc, thr = tmem(f32, { 128, 32 }), mma:get_slice(0)
    local done = mbarrier(1, 1)
    copy(parallelize(A, { 128, 1 }, threadIdx.x), parallelize(sA, { 128, 1 }, threadIdx.x))
    copy(parallelize(B, { 32, 4 }, threadIdx.x), parallelize(sB, { 32, 4 }, threadIdx.x))
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      gemm(mma, thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc),
        { accumulate = false })
      tcgen05_commit(done)
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b16x", acc):get_slice(threadIdx.x)
    local r = fragment_like(ld:partition_S(acc))
    copy(ld, ld:partition_S(acc), r)
    copy(r, ld:partition_D(C))
    sync_threads()
    tmem_dealloc(acc)
  end, { static_shapes = true })
  return k
end

local kern = product "SM100_MMA_F16BF16_SS<f16,f16,f32,128,16>"
local A, B, C = rand(f16, { 128, 32 }), rand(f16, { 32, 32 }), zeros(f32, { 128, 32 })
local t = trace(kern { grid = 1, block = 128 }, { C = { 83, 27 } }, A, B, C)
for text in tostring(t):gmatch "%f[%w][AB]%(%d[^%s,]*,[^%s,]*" do print(text) end
-- expect: A(83,0..31)
-- expect: B(27,0..31)

-- The product of a pair of blocks: of either block's rows, and of columns that either block brings.
local pair = tiled_mma "SM100_MMA_F16BF16_2x1SM_SS<f16,f16,f32,256,32>"
local both = kernel("both", function(A, B, C)
  local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), { 128, 32 }))
  local sB = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), { 16, 32 }))
  local acc, thr = tmem(f32, { 128, 32 }), pair:get_slice(0)
  local done, rank = mbarrier(1, 1), cluster_rank()
  copy(parallelize(tile(A, { 128, 32 }, { rank, 0 }), { 128, 1 }, threadIdx.x),
    parallelize(sA, { 128, 1 }, threadIdx.x))
  copy(parallelize(tile(B, { 16, 32 }, { rank, 0 }), { 16, 8 }, threadIdx.x),
    parallelize(sB, { 16, 8 }, threadIdx.x))
  fence_proxy_async()
  sync_cluster()
  if threadIdx.x == 0 and rank == 0 then
    gemm(pair, thr:partition_A(pair_tile(sA)), thr:partition_B(pair_tile(sB)),
      thr:partition_C(pair_tile(acc)), { accumulate = false })
    tcgen05_commit(done, { multicast = 3 })
  end
  done:wait(0)
  tcgen05_after_thread_sync()
  local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b32x", acc):get_slice(threadIdx.x)
  local r = fragment_like(ld:partition_S(acc))
  copy(ld, ld:partition_S(acc), r)
  copy(r, ld:partition_D(tile(C, { 128, 32 }, { rank, 0 })))
  sync_cluster()
  tmem_dealloc(acc)
end, { static_shapes = true })
local C2, launch = zeros(f32, { 256, 32 }), both { grid = 2, block = 128, cluster = 2 }
for _, at in ipairs { { 5, 20 }, { 200, 7 } } do
  local of_pair = trace(launch, { C = at }, rand(f16, { 256, 32 }), B, C2)
  for text in tostring(of_pair):gmatch "%f[%w][AB]%(%d[^%s,]*,[^%s,]*" do print(text) end
end
-- expect: A(5,0..31)
-- expect: B(20,0..31)
-- expect: B(7,0..31)
-- expect: A(200,0..31)

-- Each product adds 16 terms of K.
local top = sum_order(kern { grid = 1, block = 128 }, { C = { 83, 27 } }, A, B, C).levels[1]
print(top.op, top.how, top.n)
-- expect: tcgen05_mma	in order	2

-- An infinity times 0.
A[{ 83, 2 }], B[{ 27, 2 }] = 1 / 0, 0
local _, text = pcall(function()
  kern { grid = 1, block = 128, check = { nan = true } } (A, B, C)
end)
print(tostring(text):match "nan: [^\n]*")
-- expect: nan: infinite operands, none of them NaN, give NaN in acc at (83,27), extent (128,32), by thread (0,0,0) of block (0,0,0)
A[{ 83, 2 }] = 0

-- A file has the whole launch, and check finds nothing in it.
local path <const> = os.tmpname()
capture(kern:prepare { grid = 1, block = 128 } (A, B, C), path, { data = true })
local pipe <close> = assert(io.popen(("'%s' replay --check %s 2>&1"):format(arg[-1], path)))
print(pipe:read "a":match "check: [^\n]*") -- expect: check: no finding in 1 launch
os.remove(path)

-- A profile for a device that cannot run it has no time, and says why.
local profile = require "cuttle.profile".run(function()
  kern { grid = 1, block = 128 } (A, B, C)
end, { sm = 90 })
local of_sm90 = profile.kernels[1]
print(of_sm90.refused, of_sm90.predicted.ms)
-- expect: tmem: it needs sm_100a, sm_100f, sm_103a or sm_110a, but the kernel is compiled for sm_90	nil
print(of_sm90.predicted.why == of_sm90.refused, tostring(profile):match "no roofline[^:]*")
-- expect: true	no roofline and no time on H200, which cannot run it
