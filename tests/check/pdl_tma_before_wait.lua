-- The thread that brings boxes waits for the launches before behind its first box, and the box that it stores
-- goes where they may still write.
local shift = kernel("shift", function(A, B)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(8 * 32 * 4)
    tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), s, full[0]) -- finds: pdl: read of A at (0,0), extent (8,32), by thread (0,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of shift, which writes it, may still run; call grid_dependency_wait() before line 8, in this thread or in one that a barrier orders before it
    full[0]:wait(0)
    tma_store(s, tile(tma_tensor(B), {8, 32}, {0, 0})) -- finds: pdl: write of B at (0,0), extent (8,32), by thread (0,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of shift, which reads it, may still run; call grid_dependency_wait() before line 10, in this thread or in one that a barrier orders before it
    tma_store_commit()
    tma_store_wait(0)
    grid_dependency_wait()
  end
end)
local A, B = rand(f32, row_major{8, 32}), zeros(f32, row_major{8, 32})
shift{grid = 1, block = 32}(A, B)
shift{grid = 1, block = 32, pdl = true}(B, A)
