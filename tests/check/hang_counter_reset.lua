-- Blocks meet at a counter, and the first block sets it back for the next launch. A block that has not looked since
-- then waits for ever.
-- check: schedules
local k = kernel("meet", function(arrived, y)
  if threadIdx.x == 0 then
    atomic_add(arrived, 0, 1)
    while atomic_load(arrived, 0) < gridDim.x do end -- finds: deadlock: thread (0,0,0) of block (1,0,0) repeats the loop at line 7, and nothing that runs can end it; thread (1,0,0) of its warp waits for it, as lanes of a warp run in step: none can wait for another, so let one lane of each warp take a lock, as in 'if threadIdx.x % 32 == 0'
    if blockIdx.x == 0 then atomic_store(arrived, 0, 0) end
  end
  sync_threads()
  y[blockIdx.x * 32 + threadIdx.x] = 1
end)
k{grid = 2, block = 32, cooperative = true}(zeros(i32, 1), zeros(i32, 64))
