-- Products by wgmma on the CPU engine: types, majors, swizzles, loops over atoms and operands in registers,
-- against the reference in double precision; numbers are small integers, so that sums are exact.
-- needs sm_90a
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

-- The product of (M,K) and (N,K) by one step of the tiled MMA's block: layouts of shared memory `a`, `b`.
local function product(name, atoms, shape, a, b, types, options)
  local mma = tiled_mma(name, atoms)
  local M, N, K = table.unpack(shape)
  local threads = mma.threads
  local k = kernel("product", function(A, B, C)
    local thr = mma:get_slice(threadIdx.x)
    local sB = shared(B.dtype, tile_to_shape(b, { N, K }))
    local rA
    fill_tile(B, sB, threads)
    if a then
      local sA = shared(A.dtype, tile_to_shape(a, { M, K }))
      fill_tile(A, sA, threads)
      rA = thr:partition_A(sA)
    else
      local mine = thr:partition_A(A)
      rA = thr:partition_fragment_A(A)
      copy(mine, rA)
    end
    fence_proxy_async()
    sync_threads()
    local mine = thr:partition_C(C)
    local rC = thr:partition_fragment_C(C)
    copy(mine, rC)
    wgmma_fence()
    gemm(mma, rA, thr:partition_B(sB), rC, options)
    wgmma_commit()
    wgmma_wait()
    copy(rC, mine)
  end, { static_shapes = true })
  local A, B = integers(types[1], { M, K }, 1), integers(types[2], { N, K }, 2)
  local C = full(types[3], { M, N }, 1)
  k { grid = 1, block = threads }(A, B, C)
  local right = reference.matmul(integers(types[1], { M, K }, 1, f32),
    integers(types[2], { N, K }, 2, f32))
  local add = options and options.accumulate == false and 0 or 1
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
print(product("SM90_64x64x16_F32BF16BF16_SS", nil, { 64, 64, 64 }, K(bf16, 128), K(bf16, 128), bf))
-- expect: equal
for _, bytes in ipairs { 64, 32, 0 } do
  print(product("SM90_64x64x16_F32BF16BF16_SS", nil, { 64, 64, 64 }, K(bf16, bytes), K(bf16, bytes),
    bf))
end
-- expect: equal
-- expect: equal
-- expect: equal
for _, bytes in ipairs { 128, 64, 32, 0 } do
  print(product("SM90_64x64x16_F32F16F16_SS", nil, { 64, 128, 32 }, MN(f16, bytes), MN(f16, bytes),
    { f16, f16, f32 }, { accumulate = false }))
end
-- expect: equal
-- expect: equal
-- expect: equal
-- expect: equal

-- Loops over atoms of M, N and K, two warpgroups, both majors; 32 rows or columns are half a swizzle's.
print(product("SM90_64x32x16_F32BF16BF16_SS", { 2, 1, 1 }, { 256, 64, 128 },
  K(bf16, 128), MN(bf16, 128), bf))
-- expect: equal
print(product("SM90_64x24x16_F16F16F16_SS", { 1, 2, 1 }, { 128, 48, 32 },
  MN(f16, 64), K(f16, 64), { f16, f16, f16 }))
-- expect: equal

-- The other types, contiguous along K.
print(product("SM90_64x16x8_F32TF32TF32_SS_TN", nil, { 64, 16, 32 },
  K(f32, 128), K(f32, 64), { f32, f32, f32 }))
-- expect: equal
print(product("SM90_64x16x32_F32E4M3E5M2_SS_TN", nil, { 64, 16, 128 },
  K(f8e4m3, 128), K(f8e5m2, 32), { f8e4m3, f8e5m2, f32 }))
-- expect: equal
print(product("SM90_64x8x32_F16E5M2E4M3_SS_TN", nil, { 64, 8, 32 },
  K(f8e5m2, 0), K(f8e4m3, 32), { f8e5m2, f8e4m3, f16 }))
-- expect: equal
print(product("SM90_64x8x32_S32S8U8_SS_TN", nil, { 64, 8, 64 },
  K(i8, 64), K(u8, 64), { i8, u8, i32 }))
-- expect: equal
print(product("SM90_64x16x32_S32U8S8_SS_TN_SATURATE", nil, { 64, 16, 32 },
  K(u8, 32), K(i8, 32), { u8, i8, i32 }))
-- expect: equal

-- A in registers.
print(product("SM90_64x16x16_F32BF16BF16_RS", { 2 }, { 128, 32, 32 }, nil, K(bf16, 64), bf))
-- expect: equal
print(product("SM90_64x64x16_F16F16F16_RS", nil, { 64, 64, 32 },
  nil, MN(f16, 128), { f16, f16, f16 }))
-- expect: equal
print(product("SM90_64x8x8_F32TF32TF32_RS_TN", nil, { 64, 8, 16 },
  nil, K(f32, 32), { f32, f32, f32 }))
-- expect: equal
print(product("SM90_64x8x32_F32E4M3E4M3_RS_TN", nil, { 64, 8, 64 },
  nil, K(f8e4m3, 64), { f8e4m3, f8e4m3, f32 }))
-- expect: equal
print(product("SM90_64x8x32_S32S8S8_RS_TN", nil, { 64, 8, 32 }, nil, K(i8, 32), { i8, i8, i32 }))
-- expect: equal

-- Sums of one product as A of the next: casts of them are words already.
local function chained(qk, pv, t)
  qk, pv = tiled_mma(qk), tiled_mma(pv)
  local k = kernel("chained", function(Q, K, V, O)
    local sQ = shared(t, tile_to_shape(gmma_layout(t, "K", 32), { 64, 16 }))
    local sK = shared(t, tile_to_shape(gmma_layout(t, "K", 32), { 32, 16 }))
    local sV = shared(t, tile_to_shape(gmma_layout(t, "MN", 32), { 16, 32 }))
    fill_tile(Q, sQ, 128)
    fill_tile(K, sK, 128)
    fill_tile(V, sV, 128)
    fence_proxy_async()
    sync_threads()
    local first, second = qk:get_slice(threadIdx.x), pv:get_slice(threadIdx.x)
    local S, R = first:partition_fragment_C(layout { 64, 32 }), second:partition_fragment_C(O)
    wgmma_fence()
    gemm(qk, first:partition_A(sQ), first:partition_B(sK), S, { accumulate = false })
    wgmma_commit()
    wgmma_wait(0)
    local P = second:retile_A(cast(S, t), qk)
    wgmma_fence()
    gemm(pv, P, second:partition_B(sV), R, { accumulate = false })
    wgmma_commit()
    wgmma_wait(0)
    copy(R, second:partition_C(O))
  end, { static_shapes = true })
  local Q, K, V = integers(t, { 64, 16 }, 1), integers(t, { 32, 16 }, 2), integers(t, { 16, 32 }, 3)
  local O = zeros(f32, { 64, 16 })
  k { grid = 1, block = 128 }(Q, K, V, O)
  return allclose(O, reference.matmul(reference.matmul(Q, K), V))
end

print(chained("SM90_64x32x16_F32F16F16_SS", "SM90_64x16x16_F32F16F16_RS", f16))  -- expect: true
print(chained("SM90_64x32x16_F32BF16BF16_SS", "SM90_64x16x16_F32BF16BF16_RS", bf16))
-- expect: true

-- profile counts the instructions of warpgroups by shape; what they read is no request of threads.
device "cpu"
local p = profile(function()
  product("SM90_64x32x16_F32BF16BF16_SS", { 2, 1, 1 }, { 256, 64, 32 }, K(bf16, 64), K(bf16, 64),
    bf)
end)
local totals = p.kernels[1].totals
print(totals.wgmma["64x32x16"], totals.mma, totals.shared_load_requests)  -- expect: 16	0	0
