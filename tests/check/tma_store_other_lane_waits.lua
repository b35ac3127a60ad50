-- The lane that waits for a store is not the one that began it: its own groups are empty.
local k = kernel("store", function(x, y)
  local s, t = shared(f32, 32), threadIdx.x
  s[t] = x[t]
  fence_proxy_async()
  sync_warp()
  if t == 0 then
    tma_store(s, tile(tma_tensor(y), {32}, {0}))
    tma_store_commit()
  end
  if t == 1 then tma_store_wait(0) end
  sync_warp()
  s[t] = 0.0 -- finds: race: write of s at 0, extent 32, by thread (0,0,0) of block (0,0,0), and read by a copy of TMA by thread (0,0,0) at line 8 are not ordered; it has read once its thread has passed a tma_store_wait: arrive after that, and wait for it here
  if t == 0 then tma_store_wait(0) end
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
