-- All lanes of a warp issue a load that one of them should.
local k = kernel("twice", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 32)
  sync_threads()
  full[0]:arrive_expect_tx(8 * 32 * 4)
  tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), s, full[0]) -- finds: race: thread (0,0,0) and thread (1,0,0) of block (0,0,0) both issue the copy to s at (0,0), extent (8,32); let one thread do it, as in if threadIdx.x == 0 then, or with elect_one()
  full[0]:wait(0)
  C[threadIdx.x] = s[threadIdx.x]
end)
k{grid = 1, block = 32}(rand(f32, row_major{8, 32}), zeros(f32, 32))
