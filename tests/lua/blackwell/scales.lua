-- Products with scales in tensor memory on the CPU engine: MXFP8, MXFP4 and NVFP4, of several N and steps of K, against
-- sums in double precision; layouts of scales; and the same kernel compiled, with the instructions that it should have.
-- needs sm_100a
local operands = dofile "tests/support/operands.lua"
local matrix, elements, powers = operands.matrix, operands.elements, operands.powers
local scales_of_512 = L"((32,4),4):((16,4),1)"        -- 128 rows by 4 scales, as cuBLAS has them

-- Threads copy the scales of n rows; the rows up to 128 get those of others.
local function fill_scales(from, to, n)
  for k in range(size(to, 1)) do to[{ threadIdx.x, k }] = from[{ threadIdx.x % n, k }] end
end

-- C (128,N) = A B' in `steps` products of 128 bytes of K.
local function kernel_of(name, element, V, sf, N, K, of_b)
  local mma, per = tiled_mma(name), element == u32 and 8 or 1
  local k_major, M, rows = gmma_layout(element, "K", 128), 128, N > 128 and 256 or 128
  return kernel("scaled", function(A, SFA, B, SFB, C)
    local sA = shared(element, tile_to_shape(k_major, { M, K // per }))
    local sB = shared(of_b or element, tile_to_shape(k_major, { N, K // per }))
    local sSFA = shared(sf, tile_to_shape(scales_of_512, { 128, K // V }, "right"))
    local sSFB = shared(sf, tile_to_shape(scales_of_512, { rows, K // V }, "right"))
    local acc = tmem(f32, { M, N })
    local tSFA, tSFB = tmem(sf, { 128, K // V }), tmem(sf, { rows, K // V })
    local loaded, done = mbarrier(1, 1), mbarrier(1, 1)
    fill_scales(SFA, sSFA, M)
    fill_scales(SFB, tile(sSFB, { 128, K // V }, { 0, 0 }), N)
    if rows > 128 then
      for k in range(K // V) do sSFB[{ 128 + threadIdx.x, k }] = SFB[{ 128 + threadIdx.x, k }] end
    end
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      loaded:arrive_expect_tx((M + N) * K // per * element.bytes)
      tma_load(tma_tensor(recast(A, element)), sA, loaded)
      tma_load(tma_tensor(recast(B, of_b or element)), sB, loaded)
      loaded:wait(0)
      for _, both in ipairs { { sSFA, tSFA }, { sSFB, tSFB } } do
        local cp = tmem_copy("SM100_UTCCP_4x32dp128bit_1cta", both[2]):get_slice(0)
        copy(cp, cp:partition_S(both[1]), cp:partition_D(both[2]))
      end
      local thr = mma:get_slice(0)
      gemm(mma, { thr:partition_A(sA), thr:partition_SFA(tSFA) },
        { thr:partition_B(sB), thr:partition_SFB(tile(tSFB, { N, K // V }, { 0, 0 })) },
        thr:partition_C(acc), { accumulate = false })
      tcgen05_commit(done)
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b32x", acc):get_slice(threadIdx.x)
    local r = fragment_like(ld:partition_S(acc))
    copy(ld, ld:partition_S(acc), r)
    copy(r, ld:partition_D(C))
    sync_threads()
    tmem_dealloc(acc)
    tmem_dealloc(tSFA)
    tmem_dealloc(tSFB)
  end, { static_shapes = true })
end

-- Are sampled results within the bound of single precision of the exact sum?
local function compare(name, element, V, sf, N, K, others)
  local dtype = element == u32 and f4e2m1 or element
  local A, SFA, B, SFB, C = operands.scaled(dtype, others or dtype, V, sf, 128, N, K)
  kernel_of(name, element, V, sf, N, K, others) { grid = 1, block = 128 } (A, SFA, B, SFB, C)
  return operands.compare_scaled(A, SFA, B, SFB, C, V, 9)
end

local mxfp8 <const> = "SM100_MMA_MXF8F6F4_SS<f8e4m3,f8e4m3,f32,f8ue8m0,128,%d>"
print(compare(mxfp8:format(64), f8e4m3, 32, f8ue8m0, 64, 128)) -- expect: equal
print(compare(mxfp8:format(32), f8e4m3, 32, f8ue8m0, 32, 256)) -- expect: equal
print(compare(mxfp8:format(256), f8e4m3, 32, f8ue8m0, 256, 128)) -- expect: equal
print(compare("SM100_MMA_MXF8F6F4_SS<f8e5m2,f8e4m3,f32,f8ue8m0,128,128>", f8e5m2, 32, f8ue8m0, 128,
  128, f8e4m3))
-- expect: equal
print(compare("SM100_MMA_MXF4_SS<f4e2m1,f4e2m1,f32,f8ue8m0,128,64,32>", u32, 32, f8ue8m0, 64, 256))
-- expect: equal
print(compare("SM100_MMA_MXF4_SS<f4e2m1,f4e2m1,f32,f8ue4m3,128,128,16>", u32, 16, f8ue4m3, 128,
  256))
-- expect: equal

-- Where scales are: 32 rows to a column, four scales to a word, 32 rows more in the next column.
print(tmem_layout(f8ue8m0, { 128, 8 })) -- expect: ((32,4),(4,2)):((4,512),(1,2048))
print(tmem_layout(f8ue4m3, { 256, 4, 3 })) -- expect: ((32,8),(4,1),3):((4,512),(1,4096),4096)
local a = atom "SM100_MMA_MXF4_SS<f4e2m1,f4e2m1,f32,f8ue4m3,128,64,16>"
print(a.layout_sfa, a.layout_sfb, a.sf_vec_size, a.spaces.sfa)
-- expect: (1,(128,4)):(0,(1,128))	(1,(64,4)):(0,(1,64))	16	tensor

-- trace names the scales that an element has.
local A, B = matrix(f8e4m3, 128, 128, elements, 1), matrix(f8e4m3, 32, 128, elements, 2)
local SFA, SFB = matrix(f8ue8m0, 128, 4, powers, 3), matrix(f8ue8m0, 32, 4, powers, 4)
local launch = kernel_of(mxfp8:format(32), f8e4m3, 32, f8ue8m0, 32, 128) { grid = 1, block = 128 }
local t = trace(launch, { C = { 83, 27 } }, A, SFA, B, SFB, zeros(f32, row_major { 128, 32 }))
for text in tostring(t):gmatch "%f[%w]SF[AB]%(%d[^%s,]*,[^%s,]*" do print(text) end
-- expect: SFB(27,0..3)
-- expect: SFA(83,0..3)
