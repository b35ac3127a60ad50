-- TMA brings what threads of another block wrote to global memory, without a fence between.
local k = kernel("unfenced", function(x, y)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()
  if blockIdx.x == 0 then x[threadIdx.x] = 1.0 end
  sync_grid()
  if blockIdx.x == 1 then
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx(s)
      tma_load(tile(tma_tensor(x), {8, 32}, {0, 0}), s, full[0]) -- finds: race: read of x at (0,0), extent (8,32) by a copy to an mbarrier, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at line 5 are not ordered; TMA reads by another path: order them by a flag or a barrier, and after that put fence_proxy_async("global") between line 5 and line 10
    end
    full[0]:wait(0)
    y[threadIdx.x] = s[threadIdx.x]
  end
end)
k{grid = 2, block = 256, cooperative = true}(zeros(f32, row_major{8, 32}), zeros(f32, 256))
