-- The box begins at a multiple of 16 bytes.
local k = kernel("shifted", function(A, C, by)
  local s, full = shared(f32, row_major{4, 8}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(4 * 8 * 4)
    tma_load(tile(domain_offset({0, by}, tma_tensor(A)), {4, 8}, {0, 0}), s, full[0])
  end
  full[0]:wait(0)
  C[threadIdx.x] = s[threadIdx.x]
end)
local A, C = rand(f32, row_major{4, 32}), zeros(f32, 32)
k{grid = 1, block = 32}(A, C, 16)
