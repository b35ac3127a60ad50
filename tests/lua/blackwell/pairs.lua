-- Products of pairs of blocks on the CPU engine: both sizes of M, types, majors, loops over atoms, a cluster of two
-- pairs, A in tensor memory, against the reference in double precision; numbers are small integers, so that sums are exact.
-- needs sm_100a
local integers = dofile "tests/support/operands.lua".integers

-- The sums of each block: (rows,N), with 64 rows the second half of N in lanes 64 to 127.
local function sums_of(dtype, rows, N)
  if rows == 128 then return tmem(dtype, { 128, N }) end
  return tmem(dtype, layout({ 64, { N // 2, 2 } }, { 1, { 128, 64 } }))
end

-- A tile (rows,N) as tensor memory has it: 128 lanes.
local function by_lanes(t)
  local rows, N = size(t, 0), size(t, 1)
  if rows == 128 then return t end
  return composition(t, layout({ { 64, 2 }, N // 2 }, { { 1, 64 * (N // 2) }, 64 }))
end

-- Brings this block's rows of A from global to tensor memory, through registers. A cluster barrier follows.
local function store_a(A, tA, rank)
  local st = tmem_copy("SM100_TMEM_STORE_32dp32b8x", tA):get_slice(threadIdx.x)
  local mine = st:partition_S(tile(A, { size(tA, 0), size(tA, 1) }, { rank, 0 }))
  local r = fragment_like(st:partition_D(tA))
  copy(mine, r)
  copy(st, r, st:partition_D(tA))
  tcgen05_before_thread_sync()
end

-- The product of (M,K) and (N,K), M rows and N columns of one atom for each pair of the cluster. Each block has its
-- rows of both; TMA brings them, in the layouts `a` and `b` of shared memory. No `a`: A is in tensor memory.
local function product(name, a, b, types, K, blocks)
  local mma, one = tiled_mma(name), atom(name).shape
  local M, N, n_pairs = size(one, 0), size(one, 1), (blocks or 2) // 2
  local k = kernel("product", function(A, B, C)
    local sB = shared(B.dtype, tile_to_shape(b, { N // 2, K }))
    local acc = sums_of(C.dtype, M // 2, N)
    local mA = a and shared(A.dtype, tile_to_shape(a, { M // 2, K }))
      or tmem(A.dtype, { M // 2, K })
    local loaded, done = mbarrier(1, 1), mbarrier(1, 1)
    local rank = cluster_rank()
    if not a then
      sync_threads()
      store_a(A, mA, rank)
    end
    sync_cluster()
    local even = rank // 2 * 2
    if threadIdx.x == 0 then
      local bytes = size(sB) * B.dtype.bytes + (a and size(mA) * A.dtype.bytes or 0)
      if rank == even then loaded:arrive_expect_tx(2 * bytes) end -- of both blocks
      if a then
        tma_load(tile(tma_tensor(A), { M // 2, K }, { rank, 0 }), mA, loaded, { pair = true })
      end
      tma_load(tile(tma_tensor(B), { N // 2, K }, { rank % 2, 0 }), sB, loaded, { pair = true })
      if rank == even then
        loaded:wait(0)
        tcgen05_after_thread_sync()
        local thr = mma:get_slice(0)
        gemm(mma, thr:partition_A(pair_tile(mA)), thr:partition_B(pair_tile(sB)),
          thr:partition_C(pair_tile(acc)), { accumulate = false })
        tcgen05_commit(done, { multicast = 3 << even })
      end
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    local there, here = by_lanes(acc), by_lanes(tile(C, { M // 2, N }, { rank, 0 }))
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b8x", there):get_slice(threadIdx.x)
    local r = fragment_like(ld:partition_S(there))
    copy(ld, ld:partition_S(there), r)
    copy(r, ld:partition_D(here))
    sync_cluster()
    tmem_dealloc(acc)
    if not a then tmem_dealloc(mA) end
  end, { static_shapes = true })
  local A = integers(types[1], row_major { n_pairs * M, K }, 1)
  local B, C = integers(types[2], row_major { N, K }, 2), full(types[3], { n_pairs * M, N }, 1)
  k { grid = blocks or 2, block = 128, cluster = blocks or 2 } (A, B, C)
  local right = reference.matmul(integers(types[1], { n_pairs * M, K }, 1, f32),
    integers(types[2], { N, K }, 2, f32))
  for i = 0, n_pairs * M - 1 do
    for j = 0, N - 1 do
      if C[{ i, j }] ~= right[{ i, j }] then
        return ("%d,%d: %s, expected %s"):format(i, j, C[{ i, j }], right[{ i, j }])
      end
    end
  end
  return "equal"
end

local function K_major(dtype, bytes) return gmma_layout(dtype, "K", bytes) end
local bf = { bf16, bf16, f32 }
for _, size_of in ipairs { "256,64", "128,64", "256,32", "128,256" } do
  local name = ("SM100_MMA_F16BF16_2x1SM_SS<bf16,bf16,f32,%s>"):format(size_of)
  print(product(name, K_major(bf16, 128), K_major(bf16, 64), bf, 64))
end
-- expect: equal
-- expect: equal
-- expect: equal
-- expect: equal
print(product("SM100_MMA_F8F6F4_2x1SM_SS<f8e4m3,f8e5m2,f32,256,32>", K_major(f8e4m3, 128),
  K_major(f8e5m2, 32), { f8e4m3, f8e5m2, f32 }, 128))
-- expect: equal
print(product("SM100_MMA_TF32_2x1SM_SS<tf32,tf32,f32,128,32>", K_major(f32, 128), K_major(f32, 64),
  { f32, f32, f32 }, 32))
-- expect: equal
print(product("SM100_MMA_S8_2x1SM_SS<i8,u8,i32,256,32>", K_major(i8, 64), K_major(u8, 64),
  { i8, u8, i32 }, 64))
-- expect: equal

-- Two pairs in a cluster: each has its own even block.
print(product("SM100_MMA_F16BF16_2x1SM_SS<bf16,bf16,f32,256,32>", K_major(bf16, 128),
  K_major(bf16, 128), bf, 64, 4))
-- expect: equal

-- A in tensor memory: each block has its own rows there.
local function from_tensor(name, bytes, types, K)
  return product(name, nil, K_major(types[2], bytes), types, K)
end
print(from_tensor("SM100_MMA_F16BF16_2x1SM_TS<bf16,bf16,f32,256,64>", 128, bf, 64)) -- expect: equal
print(from_tensor("SM100_MMA_F8F6F4_2x1SM_TS<f8e5m2,f8e4m3,f32,256,32>", 64,
  { f8e5m2, f8e4m3, f32 }, 64))
-- expect: equal
print(from_tensor("SM100_MMA_TF32_2x1SM_TS<tf32,tf32,f32,256,32>", 64, { f32, f32, f32 }, 16))
-- expect: equal
print(from_tensor("SM100_MMA_S8_2x1SM_TS<i8,u8,i32,256,32>", 64, { i8, u8, i32 }, 64))
-- expect: equal
