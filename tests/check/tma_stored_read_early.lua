-- What TMA stores is read after a barrier, but before a wait for the store.
local k = kernel("stored", function(C, y)
  local s = shared(f32, row_major{8, 32})
  s[threadIdx.x] = 1.0
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, tile(tma_tensor(C), {8, 32}, {0, 0}))
    tma_store_commit()
  end
  sync_threads()
  y[threadIdx.x] = C[{0, threadIdx.x % 32}] -- finds: race: read of C at (0,0), extent (8,32), by thread (32,0,0) of block (0,0,0), and write by a copy of TMA by thread (0,0,0) at line 8 are not ordered; its writes are complete once its thread has passed a tma_store_wait with done = true: arrive after that, and wait for it here
  if threadIdx.x == 0 then tma_store_wait(0) end
end)
k{grid = 1, block = 256}(zeros(f32, row_major{8, 32}), zeros(f32, 256))
