-- The block that finishes last adds what the others wrote; none of them has a fence.
local k = kernel("total", function(x, partial, done, out)
  local t = threadIdx.x
  if t == 0 then
    partial[blockIdx.x] = x[blockIdx.x]
    if atomic_add(done, 0, 1) == gridDim.x - 1 then
      fence()
      local sum = 0.0
      for i in range(4) do sum = sum + partial[i] end -- finds: race: read of partial at 0, extent 4, by thread (0,0,0) of block (3,0,0), and write by thread (0,0,0) of block (0,0,0) at line 5 are not ordered; blocks run in any order: release a flag after the one (atomic_store, or fence() and then an atomic operation), acquire it before the other, with sync_threads() or, in a warp, sync_warp() between these and other threads
      out[0] = sum
    end
  end
end)
k{grid = 4, block = 32}(rand(f32, 4), zeros(f32, 4), zeros(i32, 1), zeros(f32, 1))
