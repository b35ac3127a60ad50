-- The store is committed to a group, and its thread waits for that group before the block ends.
local k = kernel("lost", function(C)
  local s = shared(f32, row_major{8, 32})
  s[threadIdx.x] = 1.0
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, tile(tma_tensor(C), {8, 32}, {0, 0}))
    tma_store_commit()
    tma_store_wait(0)
  end
end)
k{grid = 1, block = 256}(zeros(f32, row_major{8, 32}))
