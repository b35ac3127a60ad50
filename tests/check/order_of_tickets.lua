-- Blocks draw tickets and leave them where their own numbers say: another order gives another result.
-- check: schedules=all
local k = kernel("tickets", function(next, y)
  local ticket = shared(i32, 1)
  if threadIdx.x == 0 then ticket[0] = atomic_add(next, 0, 1) end -- finds: order: y[0] depends on the order of the warps: its bits are 0x00000000 in the first order, and 0x00000001 in the schedule below
  sync_threads()
  y[blockIdx.x * 32 + threadIdx.x] = ticket[0]
end)
k{grid = 3, block = 32}(zeros(i32, 1), zeros(i32, 96))
