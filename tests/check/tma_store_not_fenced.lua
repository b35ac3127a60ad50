-- What threads wrote is stored by TMA without a fence between.
local k = kernel("unfenced", function(C)
  local s = shared(f32, row_major{8, 32})
  s[threadIdx.x] = 1.0
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, tile(tma_tensor(C), {8, 32}, {0, 0})) -- finds: race: read of s at (0,4), extent (8,32) by a copy of TMA, by thread (0,0,0) of block (0,0,0), and write by thread (32,0,0) at line 4 are not ordered; put fence_proxy_async() after line 4, then arrive or a barrier, then a wait before line 7
    tma_store_commit()
    tma_store_wait(0)
  end
end)
k{grid = 1, block = 256}(zeros(f32, row_major{8, 32}))
