-- A load warp waits at a barrier for the compute warps of each tile. For a tile without work they only arrive, so they
-- come round again before the load warp does, and their next arrivals take its place.
local k = kernel("early_return", function(work, y)
  local t, done = threadIdx.x, named_barrier(1, 96)
  for i in range(3) do
    if t >= 64 then
      done:sync() -- finds: deadlock in block (0,0,0): warp 2 waits at line 7 for named barrier 1: 64 of 96 threads are missing
    elseif work[i] == 0 then
      done:arrive()
    else
      y[t] = i
      done:sync()
    end
  end
end)
k{grid = 1, block = 96}(from_table(i32, {0, 0, 1}), zeros(i32, 64))
