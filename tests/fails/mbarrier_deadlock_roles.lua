-- Both roles wait for the other's first step.
local k = kernel("k", function(x, n)
  local full, empty = mbarrier(2, 1), mbarrier(2, 2)
  sync_threads()
  if threadIdx.x < 128 then
    local state = pipeline_state(2)
    for i in range(n) do
      empty[state.slot]:wait(state.parity) -- expect error: deadlock in block (0,0,0): warps 0 to 3 wait at line 8 for empty[0], parity 0: 2 arrivals are missing; warps 4 to 7 wait at line 15 for full[0], parity 0: 1 arrival is missing; warps 8 to 11 wait at line 19 for named barrier 2: 128 of 256 threads are missing
      if threadIdx.x == 0 then full[state.slot]:arrive() end
      state:advance()
    end
  elseif threadIdx.x < 256 then
    local state = pipeline_state(2)
    for i in range(n) do
      full[state.slot]:wait(state.parity)
      state:advance()
    end
  else
    named_barrier(2, 256):sync()
  end
end)
k{grid = 1, block = 384}(zeros(f32, 1), 3)
