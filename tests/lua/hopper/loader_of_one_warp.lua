-- A block of 160 threads: a warp group multiplies by wgmma, and one warp more loads its tiles by TMA.
-- needs sm_90a
local bM, bN <const>, bK <const>, SLOTS <const> = 64, 32, 64, 2
local mma = tiled_mma "SM90_64x32x16_F32BF16BF16_SS"
local product = kernel("product", function(A, B, C)
  local k_major = gmma_layout(bf16, "K", 128)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, SLOTS}))
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, SLOTS}))
  local full, empty = mbarrier(SLOTS, 1), mbarrier(SLOTS, 1)
  sync_threads()
  local n = size(A, 1) // bK
  if threadIdx.x >= 128 then
    local gA = tile(tma_tensor(A), {bM, bK}, {blockIdx.x, _})
    local gB = tile(tma_tensor(B), {bN, bK}, {blockIdx.y, _})
    local state = pipeline_state(SLOTS, {parity = 1})
    for k in range(n) do
      empty[state.slot]:wait(state.parity)
      if elect_one() then
        full[state.slot]:arrive_expect_tx((bM + bN) * bK * 2)
        tma_load(gA(_, _, k), sA(_, _, state.slot), full[state.slot])
        tma_load(gB(_, _, k), sB(_, _, state.slot), full[state.slot])
      end
      state:advance()
    end
  else
    local thr = mma:get_slice(threadIdx.x)
    local tC = thr:partition_C(tile(C, {bM, bN}, {blockIdx.x, blockIdx.y}))
    local sum = thr:partition_fragment_C(tile(C, {bM, bN}, {0, 0}))
    local state = pipeline_state(SLOTS)
    for k in range(n) do
      full[state.slot]:wait(state.parity)
      wgmma_fence()
      gemm(mma, thr:partition_A(sA(_, _, state.slot)), thr:partition_B(sB(_, _, state.slot)), sum,
        {accumulate = k > 0})
      wgmma_commit()
      wgmma_wait(0)
      if threadIdx.x == 0 then empty[state.slot]:arrive() end
      state:advance()
    end
    copy(sum, tC)
  end
end, {static_shapes = true})
manual_seed(1)
local A, B = randn(bf16, row_major{128, 192}), randn(bf16, row_major{64, 192})
local C = zeros(f32, {128, 64})
product{grid = {2, 2}, block = 160, check = true}(A, B, C)
print((allclose(C, reference.matmul(A, B)))) -- expect: true
