-- Products by tcgen05 on the CPU engine: types, majors, swizzles, both sizes of M, loops over atoms, and A in
-- tensor memory, against the reference in double precision; numbers are small integers, so that sums are exact.
-- needs sm_100a
local integers = dofile "tests/support/operands.lua".integers

-- Thread by thread along the rows: 8 of them, the others along K.
local function fill_tile(from, to, threads)
  for k = 0, size(to, 1) - 1, threads // 8 do
    for row = 0, size(to, 0) - 1, 8 do
      local i, j = row + threadIdx.x % 8, k + threadIdx.x // 8
      if j < size(to, 1) then to[{ i, j }] = from[{ i, j }] end
    end
  end
end

-- Between a matrix of global memory and a tensor in tensor memory.
local function move(name, acc, from, to)
  local thr = tmem_copy(name, acc):get_slice(threadIdx.x)
  local there = from == acc and thr:partition_S(acc) or thr:partition_D(acc)
  local own = from == acc and thr:partition_D(to) or thr:partition_S(from)
  local r = fragment_like(there)
  if from == acc then
    copy(thr, there, r)
    copy(r, own)
  else
    copy(own, r)
    copy(thr, r, there)
  end
end

-- The product of (M,K) and (N,K) by one step of the tiled MMA: layouts of shared memory `a`, `b`; no `a`: A is in
-- tensor memory. C begins with ones.
local function product(name, atoms, sizes, a, b, types, options)
  local mma = tiled_mma(name, atoms)
  local M, N, K = table.unpack(sizes)
  local load, store = table.unpack(options and options.by or { "32dp32b8x", "32dp32b8x" })
  local k = kernel("product", function(A, B, C)
    local thr = mma:get_slice(0)
    local acc, tA = tmem(types[3], { M, N }), nil
    if not a then tA = tmem(types[1], { M, K }) end
    local done = mbarrier(1, 1)
    local sB = shared(B.dtype, tile_to_shape(b, { N, K }))
    fill_tile(B, sB, 128)
    sync_threads()
    local rA
    if a then
      local sA = shared(A.dtype, tile_to_shape(a, { M, K }))
      fill_tile(A, sA, 128)
      rA = thr:partition_A(sA)
    else
      move("SM100_TMEM_STORE_32dp32b4x", tA, A, tA)
      rA = thr:partition_A(tA)
    end
    move("SM100_TMEM_STORE_" .. store, acc, C, acc)
    tcgen05_before_thread_sync()
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 64 then
      tcgen05_after_thread_sync()
      gemm(mma, rA, thr:partition_B(sB), thr:partition_C(acc), options and options.gemm)
      tcgen05_commit(done)
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    move("SM100_TMEM_LOAD_" .. load, acc, acc, C)
    sync_threads()
    tmem_dealloc(acc)
    if tA then tmem_dealloc(tA) end
  end, { static_shapes = true })
  local A, B = integers(types[1], { M, K }, 1), integers(types[2], { N, K }, 2)
  local C = full(types[3], { M, N }, 1)
  k { grid = 1, block = 128 }(A, B, C)
  local right = reference.matmul(integers(types[1], { M, K }, 1, f32),
    integers(types[2], { N, K }, 2, f32))
  local add = options and options.gemm and options.gemm.accumulate == false and 0 or 1
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      if C[{ i, j }] ~= right[{ i, j }] + add then
        return ("%d,%d: %s, expected %s"):format(i, j, C[{ i, j }], right[{ i, j }] + add)
      end
    end
  end
  return "equal"
end

local K = function(t, bytes) return gmma_layout(t, "K", bytes) end
local MN = function(t, bytes) return gmma_layout(t, "MN", bytes) end
local bf = { bf16, bf16, f32 }
for _, bytes in ipairs { 128, 64, 32, 0 } do
  print(product("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,64>", nil, { 128, 64, 64 }, K(bf16, bytes),
    K(bf16, bytes), bf))
end
-- expect: equal
-- expect: equal
-- expect: equal
-- expect: equal
for _, bytes in ipairs { 128, 64, 32, 0 } do
  print(product("SM100_MMA_F16BF16_SS<f16,f16,f32,128,64>", nil, { 128, 64, 32 }, MN(f16, bytes),
    MN(f16, bytes), { f16, f16, f32 }, { gemm = { accumulate = false } }))
end
-- expect: equal
-- expect: equal
-- expect: equal
-- expect: equal

-- Loops over atoms of N and K, and both majors.
print(product("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,16>", nil, { 128, 64, 128 },
  K(bf16, 128), MN(bf16, 128), bf))
-- expect: equal

-- 64 rows are in 16 lanes of each warp.
for _, by in ipairs { "16dp64b8x", "16dp128b4x", "16dp256b2x", "16dp256b1x" } do
  print(product("SM100_MMA_F16BF16_SS<bf16,bf16,f32,64,32>", nil, { 64, 32, 32 }, K(bf16, 64),
    K(bf16, 64), bf, { by = { by, by } }))
end
-- expect: equal
-- expect: equal
-- expect: equal
-- expect: equal
print(product("SM100_MMA_F16BF16_SS<bf16,bf16,f32,64,8>", nil, { 64, 8, 32 }, K(bf16, 64),
  K(bf16, 64), bf, { by = { "16dp64b2x", "16dp256b1x" } }))
-- expect: equal

-- The other types, contiguous along K.
print(product("SM100_MMA_TF32_SS<tf32,tf32,f32,128,16>", nil, { 128, 16, 32 }, K(f32, 128),
  K(f32, 64), { f32, f32, f32 }))
-- expect: equal
print(product("SM100_MMA_F8F6F4_SS<f8e4m3,f8e5m2,f32,128,16>", nil, { 128, 16, 128 },
  K(f8e4m3, 128), K(f8e5m2, 32), { f8e4m3, f8e5m2, f32 }))
-- expect: equal
print(product("SM100_MMA_S8_SS<i8,u8,i32,128,16>", nil, { 128, 16, 64 }, K(i8, 64), K(u8, 64),
  { i8, u8, i32 }))
-- expect: equal

-- A in tensor memory, two or four elements in a word.
print(product("SM100_MMA_F16BF16_TS<bf16,bf16,f32,128,32>", nil, { 128, 32, 32 }, nil, K(bf16, 64),
  bf))
-- expect: equal
print(product("SM100_MMA_F8F6F4_TS<f8e5m2,f8e4m3,f32,128,32>", nil, { 128, 32, 64 }, nil,
  K(f8e4m3, 64), { f8e5m2, f8e4m3, f32 }))
-- expect: equal
print(product("SM100_MMA_TF32_TS<tf32,tf32,f32,128,16>", nil, { 128, 16, 16 }, nil, K(f32, 64),
  { f32, f32, f32 }))
-- expect: equal
