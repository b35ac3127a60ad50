-- blackwell_steps.lua: from one product by a tensor core of Blackwell to a pipelined one by pairs
-- of blocks, to scales, and to blocks that take each other's work, step by step: C = A * B' in
-- bf16, A and B contiguous along K, sums in f32 in tensor memory. Each step is a kernel of its own
-- and is checked; each changes one thing of the one before.
-- Usage: cuttle blackwell_steps.lua [M N K]
-- needs sm_100a
-- Nothing here has run on a GPU: docs/blackwell.md says what was checked, and how.
local M, N, K = tonumber(arg[1] or 512), tonumber(arg[2] or 256), tonumber(arg[3] or 256)
local bM, bN, bK = 128, 128, 64                         -- the tile of a block
local bytes = (bM + bN) * bK * bf16.bytes               -- of the tiles of A and B
local k_major = gmma_layout(bf16, "K", 128)             -- 8 rows of 128 bytes, swizzled
local mma = tiled_mma(("SM100_MMA_F16BF16_SS<bf16,bf16,f32,%d,%d>"):format(bM, bN))

-- Warps 0 to 3 take a tile of sums from tensor memory, 32 columns at a time, and store it.
local function store(acc, gC)
  local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b32x", acc):get_slice(threadIdx.x % 128)
  local tDtC, tDgC = ld:partition_S(acc), ld:partition_D(gC)             -- (V,M,N)
  local tDrC = fragment_like(tDtC(_, 0, 0))
  for j in range(size(tDtC, 2)) do
    copy(ld, tDtC(_, 0, j), tDrC)
    copy(cast(tDrC, bf16), tDgC(_, 0, j))
  end
end

-- {====== Step 1: one product ======

-- Each block multiplies one tile, one step of K after the other. Nothing overlaps.
local one_product = kernel("one_product", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK}))              -- (BLK_M,BLK_K)
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK}))              -- (BLK_N,BLK_K)
  local acc = tmem(f32, {bM, bN})                                        -- (BLK_M,BLK_N)
  local loaded, done = mbarrier(1, 1), mbarrier(1, 1)   -- so far only the first warp uses these
  local gA = tile(tma_tensor(A), {bM, bK}, {blockIdx.y, _})              -- (BLK_M,BLK_K,k)
  local gB = tile(tma_tensor(B), {bN, bK}, {blockIdx.x, _})              -- (BLK_N,BLK_K,k)
  if threadIdx.x == 0 then
    local thr = mma:get_slice(0)
    local tCsA, tCsB, tCtC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc)
    for k in range(size(gA, 2)) do
      loaded:arrive_expect_tx(bytes)
      tma_load(gA(_, _, k), sA, loaded)
      tma_load(gB(_, _, k), sB, loaded)
      loaded:wait(k % 2)
      gemm(mma, tCsA, tCsB, tCtC, {accumulate = k > 0})
      tcgen05_commit(done)                              -- arrives when the tiles have been read
      done:wait(k % 2)
    end
  end
  sync_threads()                                        -- the sums are there
  tcgen05_after_thread_sync()
  store(acc, tile(C, {bM, bN}, {blockIdx.y, blockIdx.x}))
  sync_threads()
  tmem_dealloc(acc)
end)

-- {====== Step 2: a ring of stages ======

-- One warp loads, another multiplies: loads run while products do.
local stages = 4
local ring = kernel("ring", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))      -- (BLK_M,BLK_K,PIPE)
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))      -- (BLK_N,BLK_K,PIPE)
  local acc = tmem(f32, {bM, bN})
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 1)
  local done = mbarrier(1, 1)
  sync_threads()
  local gA = tile(tma_tensor(A), {bM, bK}, {blockIdx.y, _})
  local gB = tile(tma_tensor(B), {bN, bK}, {blockIdx.x, _})
  local k_tiles = size(gA, 2)
  if threadIdx.x == 0 then
    local state = pipeline_state(stages, {parity = 1})  -- all slots are empty at first
    for k in range(k_tiles) do
      local slot = state.slot
      empty[slot]:wait(state.parity)
      full[slot]:arrive_expect_tx(bytes)
      tma_load(gA(_, _, k), sA(_, _, slot), full[slot])
      tma_load(gB(_, _, k), sB(_, _, slot), full[slot])
      state:advance()
    end
  elseif threadIdx.x == 32 then
    local thr, state = mma:get_slice(0), pipeline_state(stages)
    local tCsA, tCsB, tCtC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc)
    for k in range(k_tiles) do
      local slot = state.slot
      full[slot]:wait(state.parity)
      gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCtC, {accumulate = k > 0})
      tcgen05_commit(empty[slot])                       -- no wait: the next product is pipelined
      state:advance()
    end
    tcgen05_commit(done)
  end
  done:wait(0)
  tcgen05_after_thread_sync()
  store(acc, tile(C, {bM, bN}, {blockIdx.y, blockIdx.x}))
  sync_threads()
  tmem_dealloc(acc)
end)

-- {====== Step 3: two accumulators ======

-- Blocks stay for several tiles. Four more warps store one tile while the next is multiplied.
local persistent = kernel("persistent", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))
  local acc = tmem(f32, {bM, bN, 2})                                     -- (BLK_M,BLK_N,ACC)
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 1)
  local done, free = mbarrier(2, 1), mbarrier(2, 128)                    -- of the accumulators
  sync_threads()
  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})                       -- (BLK_M,BLK_K,m,k)
  local gB = tile(tma_tensor(B), {bN, bK}, {_, _})                       -- (BLK_N,BLK_K,n,k)
  local gC = tile(C, {bM, bN}, {_, _})                                   -- (BLK_M,BLK_N,m,n)
  local k_tiles = size(gA, 3)
  local walk = {tiles = {size(gC, 2), size(gC, 3)}}
  if threadIdx.x == 128 then
    local state = pipeline_state(stages, {parity = 1})
    for m, n in raster(walk) do
      for k in range(k_tiles) do
        local slot = state.slot
        empty[slot]:wait(state.parity)
        full[slot]:arrive_expect_tx(bytes)
        tma_load(gA(_, _, m, k), sA(_, _, slot), full[slot])
        tma_load(gB(_, _, n, k), sB(_, _, slot), full[slot])
        state:advance()
      end
    end
  elseif threadIdx.x == 160 then
    local thr, state = mma:get_slice(0), pipeline_state(stages)
    local out = pipeline_state(2, {parity = 1})
    local tCsA, tCsB, tCtC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc)
    for m, n in raster(walk) do -- luacheck: ignore 213
      free[out.slot]:wait(out.parity)                   -- its sums have been taken
      tcgen05_after_thread_sync()
      for k in range(k_tiles) do
        local slot = state.slot
        full[slot]:wait(state.parity)
        gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCtC(_, _, _, out.slot),
             {accumulate = k > 0})
        tcgen05_commit(empty[slot])
        state:advance()
      end
      tcgen05_commit(done[out.slot])
      out:advance()
    end
  elseif threadIdx.x < 128 then
    local out = pipeline_state(2)
    for m, n in raster(walk) do
      done[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      store(acc(_, _, out.slot), gC(_, _, m, n))
      tcgen05_before_thread_sync()
      free[out.slot]:arrive()
      out:advance()
    end
  end
  sync_threads()
  tmem_dealloc(acc)
end)

-- {====== Step 4: pairs of blocks ======

-- Two blocks of a cluster multiply 256 x 128 together. Each loads its half of A and of B, so half
-- of B is loaded that a block alone would load. One thread of the even block multiplies for both.
local pair = tiled_mma(("SM100_MMA_F16BF16_2x1SM_SS<bf16,bf16,f32,%d,%d>"):format(2 * bM, bN))
local both = 3                                          -- a bit for each block of the pair
local pairs_of_blocks = kernel("pairs_of_blocks", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))      -- half of 2 BLK_M
  local sB = shared(bf16, tile_to_shape(k_major, {bN // 2, bK, stages})) -- half of BLK_N
  local acc = tmem(f32, {bM, bN, 2})                                     -- both blocks allocate
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 1)
  local done, free = mbarrier(2, 1), mbarrier(2, 256)                    -- of both blocks' warps
  sync_cluster()
  local rank = cluster_rank()
  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})
  local gB = tile(tma_tensor(B), {bN // 2, bK}, {_, _})
  local gC = tile(C, {bM, bN}, {_, _})
  local k_tiles = size(gA, 3)
  local walk = {tiles = {cdiv(size(C, 0), 2 * bM), cdiv(size(C, 1), bN)}} -- the same for both
  if threadIdx.x == 128 then
    local state = pipeline_state(stages, {parity = 1})
    for m, n in raster(walk) do
      for k in range(k_tiles) do
        local slot = state.slot
        empty[slot]:wait(state.parity)
        if rank == 0 then full[slot]:arrive_expect_tx((2 * bM + bN) * bK * bf16.bytes) end
        tma_load(gA(_, _, 2 * m + rank, k), sA(_, _, slot), full[slot], {pair = true})
        tma_load(gB(_, _, 2 * n + rank, k), sB(_, _, slot), full[slot], {pair = true})
        state:advance()
      end
    end
  elseif threadIdx.x == 160 and rank == 0 then
    local thr, state = pair:get_slice(0), pipeline_state(stages)
    local out = pipeline_state(2, {parity = 1})
    local tCsA, tCsB = thr:partition_A(pair_tile(sA)), thr:partition_B(pair_tile(sB))
    local tCtC = thr:partition_C(pair_tile(acc))
    for m, n in raster(walk) do -- luacheck: ignore 213
      free[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      for k in range(k_tiles) do
        local slot = state.slot
        full[slot]:wait(state.parity)                   -- the bytes of both blocks
        gemm(pair, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCtC(_, _, _, out.slot),
             {accumulate = k > 0})
        tcgen05_commit(empty[slot], {multicast = both})
        state:advance()
      end
      tcgen05_commit(done[out.slot], {multicast = both})
      out:advance()
    end
  elseif threadIdx.x < 128 then
    local out = pipeline_state(2)
    for m, n in raster(walk) do
      done[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      store(acc(_, _, out.slot), gC(_, _, 2 * m + rank, n))
      tcgen05_before_thread_sync()
      free[out.slot]:arrive(0)                          -- at the even block
      out:advance()
    end
  end
  sync_cluster()                                        -- neither ends before the other
  tmem_dealloc(acc)
end)

-- {====== Step 5: scales ======

-- MXFP8: elements of 8 bits, and a scale for each 32 along K. The scales of 128 rows come to shared
-- memory in 512 bytes, as cuBLAS has them; tcgen05.cp copies them on to tensor memory, 32 rows to
-- a column. Each stage has its own columns: a copy may not overtake a product that reads them.
local scaled_mma = tiled_mma("SM100_MMA_MXF8F6F4_SS<f8e4m3,f8e4m3,f32,f8ue8m0,128,128>")
local k_scaled, of_block = 128, 128 // 32               -- elements, and scales, of a step of K
local scale_major = L"((32,4),4):((16,4),1)"
local elements_major = gmma_layout(f8e4m3, "K", 128)
local scales = kernel("scales", function(A, SFA, B, SFB, C)
  local sA = shared(f8e4m3, tile_to_shape(elements_major, {bM, k_scaled, 2}))
  local sB = shared(f8e4m3, tile_to_shape(elements_major, {bN, k_scaled, 2}))
  local sSFA = shared(f8ue8m0, tile_to_shape(scale_major, {bM, of_block, 2}))
  local sSFB = shared(f8ue8m0, tile_to_shape(scale_major, {bN, of_block, 2}))
  local acc = tmem(f32, {bM, bN})
  local tSFA, tSFB = tmem(f8ue8m0, {bM, of_block, 2}), tmem(f8ue8m0, {bN, of_block, 2})
  local full, empty, done = mbarrier(2, 32 + 1), mbarrier(2, 1), mbarrier(1, 1)
  sync_threads()
  local gA = tile(tma_tensor(A), {bM, k_scaled}, {blockIdx.y, _})
  local gB = tile(tma_tensor(B), {bN, k_scaled}, {blockIdx.x, _})
  local gSFA = tile(SFA, {bM, of_block}, {blockIdx.y, _})
  local gSFB = tile(SFB, {bN, of_block}, {blockIdx.x, _})
  local k_tiles = size(gA, 2)
  if threadIdx.x < 32 then                              -- a warp loads: scales by its threads
    local state = pipeline_state(2, {parity = 1})
    for k in range(k_tiles) do
      local slot = state.slot
      empty[slot]:wait(state.parity)
      if threadIdx.x == 0 then
        full[slot]:arrive_expect_tx((bM + bN) * k_scaled)
        tma_load(gA(_, _, k), sA(_, _, slot), full[slot])
        tma_load(gB(_, _, k), sB(_, _, slot), full[slot])
      end
      for row = 0, bM - 1, 32 do
        for j in range(of_block) do
          sSFA[{row + threadIdx.x, j, slot}] = gSFA[{row + threadIdx.x, j, k}]
          sSFB[{row + threadIdx.x, j, slot}] = gSFB[{row + threadIdx.x, j, k}]
        end
      end
      fence_proxy_async()                               -- tcgen05.cp reads by another path
      full[slot]:arrive()
      state:advance()
    end
  elseif threadIdx.x == 32 then
    local thr, state = scaled_mma:get_slice(0), pipeline_state(2)
    local tCsA, tCsB, tCtC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc)
    local tCtSFA, tCtSFB = thr:partition_SFA(tSFA), thr:partition_SFB(tSFB)
    local cp = tmem_copy("SM100_UTCCP_4x32dp128bit_1cta", tSFA):get_slice(0)
    for k in range(k_tiles) do
      local slot = state.slot
      full[slot]:wait(state.parity)
      tcgen05_after_thread_sync()                       -- the columns are free, too
      copy(cp, cp:partition_S(sSFA(_, _, slot)), cp:partition_D(tSFA(_, _, slot)))
      copy(cp, cp:partition_S(sSFB(_, _, slot)), cp:partition_D(tSFB(_, _, slot)))
      gemm(scaled_mma, {tCsA(_, _, _, slot), tCtSFA(_, _, _, slot)},
           {tCsB(_, _, _, slot), tCtSFB(_, _, _, slot)}, tCtC, {accumulate = k > 0})
      tcgen05_commit(empty[slot])
      state:advance()
    end
    tcgen05_commit(done)
  end
  done:wait(0)
  tcgen05_after_thread_sync()
  store(acc, tile(C, {bM, bN}, {blockIdx.y, blockIdx.x}))
  sync_threads()
  tmem_dealloc(acc)
  tmem_dealloc(tSFA)
  tmem_dealloc(tSFB)
end)

-- {====== Step 6: the work of other blocks ======

-- As step 3, but the launch has a block for each tile. A block that runs takes the tiles of blocks
-- that have not begun, until there are none (cluster launch control). So blocks that begin late, or
-- are slow, get fewer tiles. One thread asks; those of the other roles read the answers.
local launch_control = kernel("launch_control", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))
  local acc = tmem(f32, {bM, bN, 2})                                     -- (BLK_M,BLK_N,ACC)
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 1)
  local done, free = mbarrier(2, 1), mbarrier(2, 128)                    -- of the accumulators
  local scheduler = clc_scheduler{stages = 2, readers = 128 + 2}         -- 4 warps and 2 threads
  sync_threads()
  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})                       -- (BLK_M,BLK_K,m,k)
  local gB = tile(tma_tensor(B), {bN, bK}, {_, _})                       -- (BLK_N,BLK_K,n,k)
  local gC = tile(C, {bM, bN}, {_, _})                                   -- (BLK_M,BLK_N,m,n)
  local k_tiles = size(gA, 3)
  if threadIdx.x == 192 then
    scheduler:fetch()
  elseif threadIdx.x == 128 then
    local state, work = pipeline_state(stages, {parity = 1}), scheduler:work()
    while work.is_valid do                              -- work.x is blockIdx.x at first
      for k in range(k_tiles) do
        local slot = state.slot
        empty[slot]:wait(state.parity)
        full[slot]:arrive_expect_tx(bytes)
        tma_load(gA(_, _, work.y, k), sA(_, _, slot), full[slot])
        tma_load(gB(_, _, work.x, k), sB(_, _, slot), full[slot])
        state:advance()
      end
      work:advance()
    end
  elseif threadIdx.x == 160 then
    local thr, state, work = mma:get_slice(0), pipeline_state(stages), scheduler:work()
    local out = pipeline_state(2, {parity = 1})
    local tCsA, tCsB, tCtC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(acc)
    while work.is_valid do
      free[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      for k in range(k_tiles) do
        local slot = state.slot
        full[slot]:wait(state.parity)
        gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCtC(_, _, _, out.slot),
             {accumulate = k > 0})
        tcgen05_commit(empty[slot])
        state:advance()
      end
      tcgen05_commit(done[out.slot])
      out:advance()
      work:advance()
    end
  elseif threadIdx.x < 128 then
    local out, work = pipeline_state(2), scheduler:work()
    while work.is_valid do
      done[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      store(acc(_, _, out.slot), gC(_, _, work.y, work.x))
      tcgen05_before_thread_sync()
      free[out.slot]:arrive()
      out:advance()
      work:advance()
    end
  end
  sync_threads()
  tmem_dealloc(acc)
end)

-- {====== Running ======

local A, B = randn(bf16, row_major{M, K}), randn(bf16, row_major{N, K})
local want = reference.matmul(A, B)
local high, wide = cdiv(M, bM), cdiv(N, bN)
local n_blocks = min(high * wide, 148)                  -- as many as a B200 has SMs
local steps = {
  {"one product", one_product, {grid = {wide, high}, block = 128}},
  {"ring of 4 stages", ring, {grid = {wide, high}, block = 128}},
  {"two accumulators", persistent, {grid = min(n_blocks, 2), block = 192}},
  {"pairs of blocks", pairs_of_blocks, {grid = 2, block = 192, cluster = 2}},
}
local on_gpu, all_ok = device().sm ~= nil, true
-- Step 5 multiplies what a quantiser makes of A and B. Its scales are powers of two.
local quantize = require("cuttle.rows").quantize_mxfp8
local QA, QSFA = quantize(randn(f32, row_major{M, K}))
local QB, QSFB = quantize(randn(f32, row_major{N, K}))

-- A quantised matrix in f32.
local spread = kernel("spread", function(q, scale, out)
  local i = blockIdx.x
  for j = threadIdx.x, size(q, 1) - 1, 32 do
    out[{i, j}] = f32(q[{i, j}]) * f32(scale[{i, j // 32}])
  end
end)
local function in_f32(q, scale)
  local out = zeros(f32, row_major{size(q, 0), size(q, 1)})
  spread{grid = size(q, 0), block = 32}(q, scale, out)
  return out
end
local want_scaled = reference.matmul(in_f32(QA, QSFA), in_f32(QB, QSFB))
steps[#steps + 1] = {"scales", scales, {grid = {wide, high}, block = 128},
                     {QA, QSFA, QB, QSFB}, want_scaled}
steps[#steps + 1] = {"work of others", launch_control, {grid = {wide, high}, block = 224}}

for i, step in ipairs(steps) do
  local name, k, launch, operands, right = table.unpack(step)
  if on_gpu and (i == 3 or i == 4) then launch.grid = n_blocks // 2 * 2 end
  local C = full(bf16, row_major{M, N}, -1)
  operands = operands or {A, B}
  operands[#operands + 1] = C
  local run = k:prepare(launch)(table.unpack(operands))
  run()
  local ok = allclose(C, right or want, {rtol = 1.6e-2, atol = 2e-2})
  local speed = on_gpu and (", %.0f TFLOP/s"):format(2e-9 * M * N * K / bench(run)) or ""
  print(("%d %-18s %s%s"):format(i, name, ok and "correct" or "WRONG", speed))
  all_ok = all_ok and ok
end
os.exit(all_ok, true)
