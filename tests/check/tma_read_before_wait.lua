-- A tile that is read without waiting for its mbarrier.
local k = kernel("early", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(8 * 32 * 4)
    tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), s, full[0])
  end
  C[threadIdx.x] = s[{0, threadIdx.x}] -- finds: race: read of s at (0,0), extent (8,32), by thread (0,0,0) of block (0,0,0), and write by a copy to an mbarrier by thread (0,0,0) at line 7 are not ordered; a thread that waits for that phase of its mbarrier sees what it copies
end)
k{grid = 1, block = 32}(rand(f32, row_major{8, 32}), zeros(f32, 32))
