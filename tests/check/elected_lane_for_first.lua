-- A lane is elected, and need not be the one that began the store: its groups may be empty.
local k = kernel("store", function(x, y)
  local s, t = shared(f32, 32), threadIdx.x
  s[t] = x[t]
  fence_proxy_async()
  sync_warp()
  if t == 0 then tma_store(s, tile(tma_tensor(y), {32}, {0})) end -- finds: tma_store: the block may end before this has read s; let its thread reach tma_store_commit(), which makes a group of it, and then tma_store_wait(0)
  if elect_one() then
    tma_store_commit()
    tma_store_wait(0)
  end
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
