-- Shared memory that would fit, were it not for where swizzled tiles begin.
local k = kernel("large", function(A)
  local s = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {64, 64, 28}))
  local u, full = shared(bf16, 1040), mbarrier(1, 1)
  u[0] = 0.0
  tma_load(tile(tma_tensor(A), {64, 64}, {0, 0}), s(_, _, 0), full[0])
end)
k{grid = 1, block = 32}(zeros(bf16, row_major{64, 64})) -- expect error: large: 231472 bytes of shared tensors, and 1008 more so that they begin at a multiple of 1024, but a block on the CPU engine has 232448; use smaller tiles or fewer of them
