-- The producer's state should begin with parity 1.
local k = kernel("pairs", function(x)
  local full, empty = mbarrier(2, 32), mbarrier(2, 32)
  sync_threads()
  local state = pipeline_state(2)
  if threadIdx.x < 32 then
    empty[state.slot]:wait(state.parity) -- expect error: deadlock in block (0,0,0): warp 0 waits at line 7 for empty[0], parity 0: 32 arrivals are missing; warp 1 waits at line 11 for full[0], parity 0: 32 arrivals are missing; nobody begins: slots are empty at first, so who fills them begins with parity 1, as by pipeline_state(n, {parity = 1})
    x[threadIdx.x] = 1
    full[state.slot]:arrive()
  else
    full[state.slot]:wait(state.parity)
    empty[state.slot]:arrive()
  end
end)
k{grid = 1, block = 64}(zeros(f32, 64))
