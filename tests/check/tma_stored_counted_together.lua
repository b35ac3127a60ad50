-- Two warps store by TMA and count in one flag. A third waits for two: both may be of one warp.
local k = kernel("counted", function(C, y)
  local s = shared(f32, row_major{4, 32})
  local n, is_read = shared(u32, 1), shared(u32, 1)
  local warp, lane = threadIdx.x // 32, threadIdx.x % 32
  if warp < 2 then s[{warp, lane}], s[{warp + 2, lane}] = 1.0, 2.0 end
  if threadIdx.x == 0 then n[0], is_read[0] = 0, 0 end
  fence_proxy_async()
  sync_threads()
  if warp < 2 and lane == 0 then
    if warp == 1 then
      while atomic_load(is_read, 0, {order = "relaxed"}) == 0 do end
    end
    for i in unroll(2) do
      local row = 2 * i + warp
      tma_store(tile(s, {1, 32}, {row, 0}), tile(tma_tensor(C), {1, 32}, {row, 0})) -- finds: race: write of C at (1,0), extent (4,32) by a copy of TMA, by thread (32,0,0) of block (0,0,0), and read by thread (64,0,0) at line 28 are not ordered; arrive at a barrier after line 28, and wait for it before line 16
      tma_store_commit()
      tma_store_wait(0, {done = true})
      fence()
      atomic_add(n, 0, 1)
    end
  elseif warp == 2 then
    if lane == 0 then
      while atomic_load(n, 0) < 2 do end
    end
    sync_warp()
    y[lane] = C[{0, lane}]
    y[lane + 32] = C[{1, lane}]
    if lane == 0 then atomic_store(is_read, 0, 1, {order = "relaxed"}) end
  end
end)
k{grid = 1, block = 96}(zeros(f32, row_major{4, 32}), zeros(f32, 64))
