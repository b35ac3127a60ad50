-- A buffer that is written again while it is still being stored.
local k = kernel("reused", function(C)
  local s = shared(f32, row_major{8, 32})
  for i = 0, 1 do
    s[threadIdx.x] = 1.0 + i -- finds: race: write of s at (0,4), extent (8,32), by thread (32,0,0) of block (0,0,0), and read by a copy of TMA by thread (0,0,0) at line 9 are not ordered; it has read once its thread has passed a tma_store_wait: arrive after that, and wait for it here
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      tma_store(s, tile(tma_tensor(C), {8, 32}, {i, 0}))
      tma_store_commit()
      tma_store_wait(1)
    end
    sync_threads()
  end
  if threadIdx.x == 0 then tma_store_wait(0) end
end)
k{grid = 1, block = 256}(zeros(f32, row_major{16, 32}))
