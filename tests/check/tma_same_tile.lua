-- Two blocks store to the same tile: the index of a block is halved once too often.
local k = kernel("same", function(C)
  local s = shared(f32, row_major{8, 32})
  s[threadIdx.x] = 1.0 * blockIdx.x
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, tile(tma_tensor(C), {8, 32}, {blockIdx.x // 2, 0})) -- finds: race: write of C at (0,0), extent (32,32) by a copy of TMA, by thread (0,0,0) of block (1,0,0), and write by a copy of TMA by thread (0,0,0) of block (0,0,0) at the same line are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
    tma_store_commit()
    tma_store_wait(0)
  end
end)
k{grid = 4, block = 256}(zeros(f32, row_major{32, 32}))
