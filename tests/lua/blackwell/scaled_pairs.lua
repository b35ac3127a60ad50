-- Products with scales by pairs of blocks on the CPU engine: MXFP8, MXFP4 and NVFP4, against sums in double precision.
-- Each block has its rows of A with their scales, its rows of B, and the scales of all of B; one thread of the even
-- block copies the scales of both, and multiplies for both. trace follows an element of the odd block.
-- needs sm_100a
local operands = dofile "tests/support/operands.lua"
local scales_of_512 = L"((32,4),4):((16,4),1)"        -- 128 rows by 4 scales, as cuBLAS has them
local M <const> = 256

-- Threads copy the scales of n rows, from row `first` on; the rows up to 128 get those of others.
local function fill_scales(from, first, to, n)
  for k in range(size(to, 1)) do to[{ threadIdx.x, k }] = from[{ first + threadIdx.x % n, k }] end
end

-- C (256,N) = A B', N at most 128.
local function kernel_of(name, element, V, sf, N, K)
  local mma, per = tiled_mma(name), element == u32 and 8 or 1
  local k_major, rows = gmma_layout(element, "K", 128), M // 2
  return kernel("scaled", function(A, SFA, B, SFB, C)
    local sA = shared(element, tile_to_shape(k_major, { rows, K // per }))
    local sB = shared(element, tile_to_shape(k_major, { N // 2, K // per }))
    local sSFA = shared(sf, tile_to_shape(scales_of_512, { 128, K // V }, "right"))
    local sSFB = shared(sf, tile_to_shape(scales_of_512, { 128, K // V }, "right"))
    local acc = tmem(f32, { rows, N })
    local tSFA, tSFB = tmem(sf, { 128, K // V }), tmem(sf, { 128, K // V })
    local loaded, done = mbarrier(1, 1), mbarrier(1, 1)
    local rank = cluster_rank()
    fill_scales(SFA, rank * rows, sSFA, rows)
    fill_scales(SFB, 0, sSFB, N)
    fence_proxy_async()
    sync_cluster()
    if threadIdx.x == 0 then
      if rank == 0 then loaded:arrive_expect_tx((M + N) * K // per * element.bytes) end
      tma_load(tile(tma_tensor(recast(A, element)), { rows, K // per }, { rank, 0 }), sA, loaded,
        { pair = true })
      tma_load(tile(tma_tensor(recast(B, element)), { N // 2, K // per }, { rank, 0 }), sB, loaded,
        { pair = true })
      if rank == 0 then
        loaded:wait(0)
        for _, both in ipairs { { sSFA, tSFA }, { sSFB, tSFB } } do
          local cp = tmem_copy("SM100_UTCCP_4x32dp128bit_2cta", both[2]):get_slice(0)
          copy(cp, cp:partition_S(both[1]), cp:partition_D(both[2]))
        end
        local thr, ofB = mma:get_slice(0), tile(tSFB, { N, K // V }, { 0, 0 })
        gemm(mma, { thr:partition_A(pair_tile(sA)), thr:partition_SFA(pair_tile(tSFA)) },
          { thr:partition_B(pair_tile(sB)), thr:partition_SFB(ofB) },
          thr:partition_C(pair_tile(acc)), { accumulate = false })
        tcgen05_commit(done, { multicast = 3 })
      end
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b32x", acc):get_slice(threadIdx.x)
    local r = fragment_like(ld:partition_S(acc))
    copy(ld, ld:partition_S(acc), r)
    copy(r, ld:partition_D(tile(C, { rows, N }, { rank, 0 })))
    sync_cluster()
    tmem_dealloc(acc)
    tmem_dealloc(tSFA)
    tmem_dealloc(tSFB)
  end, { static_shapes = true })
end

-- Are sampled results within the bound of single precision of the exact sum?
local function compare(name, element, V, sf, N, K)
  local dtype = element == u32 and f4e2m1 or element
  local A, SFA, B, SFB, C = operands.scaled(dtype, dtype, V, sf, M, N, K)
  kernel_of(name, element, V, sf, N, K) { grid = 2, block = 128, cluster = 2 } (A, SFA, B, SFB, C)
  return operands.compare_scaled(A, SFA, B, SFB, C, V, 17)
end

local mxfp8 <const> = "SM100_MMA_MXF8F6F4_2x1SM_SS<f8e4m3,f8e4m3,f32,f8ue8m0,256,%d>"
print(compare(mxfp8:format(64), f8e4m3, 32, f8ue8m0, 64, 128)) -- expect: equal
print(compare(mxfp8:format(128), f8e4m3, 32, f8ue8m0, 128, 256)) -- expect: equal
print(compare("SM100_MMA_MXF4_2x1SM_SS<f4e2m1,f4e2m1,f32,f8ue8m0,256,64,32>", u32, 32, f8ue8m0, 64,
  256)) -- expect: equal
print(compare("SM100_MMA_MXF4_2x1SM_SS<f4e2m1,f4e2m1,f32,f8ue4m3,256,32,16>", u32, 16, f8ue4m3, 32,
  256)) -- expect: equal

-- Each block has its rows of A's scales, and all of B's.
local a = atom(mxfp8:format(64))
print(a.thr_id, a.layout_sfa, a.layout_sfb) -- expect: 2:1	(2,(128,1)):(128,(1,256))	(2,(64,1)):(0,(1,64))

-- trace names the scales that an element of the odd block has: its own block's copies.
local launch = kernel_of(mxfp8:format(32), f8e4m3, 32, f8ue8m0, 32, 128) { grid = 2, block = 128,
  cluster = 2 }
local t = trace(launch, { C = { 131, 27 } },
  operands.scaled(f8e4m3, f8e4m3, 32, f8ue8m0, M, 32, 128))
for text in tostring(t):gmatch "%f[%w]SF[AB]%(%d[^%s,]*,[^%s,]*" do print(text) end
-- expect: SFA(131,0..3)
-- expect: SFB(27,0..3)
