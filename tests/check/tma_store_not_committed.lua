-- The wait before the end waits for groups, and the store is in none.
local k = kernel("lost", function(C)
  local s = shared(f32, row_major{8, 32})
  s[threadIdx.x] = 1.0
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, tile(tma_tensor(C), {8, 32}, {0, 0})) -- finds: tma_store: the block may end before this has read s; let its thread reach tma_store_commit(), which makes a group of it, and then tma_store_wait(0)
    tma_store_wait(0)
  end
end)
k{grid = 1, block = 256}(zeros(f32, row_major{8, 32}))
