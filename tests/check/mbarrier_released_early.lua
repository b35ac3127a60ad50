-- A consumer that gives its slot back before it has read it.
local k = kernel("ring", function(x, y, n)
  local s = shared(f32, 32)
  local full, empty = mbarrier(1, 32), mbarrier(1, 32)
  sync_threads()
  local t = threadIdx.x % 32
  if threadIdx.x >= 32 then
    local state = pipeline_state(1, {parity = 1})
    for i in range(n) do
      empty:wait(state.parity)
      s[t] = x[{t, i}] -- finds: race: write of s at 0, extent 32, by thread (32,0,0) of block (0,0,0), and read by thread (31,0,0) at line 21 are not ordered; arrive at a barrier after line 21, and wait for it before line 11
      full:arrive()
      state:advance()
    end
  else
    local state, sum = pipeline_state(1), 0.0
    for i in range(n) do
      full:wait(state.parity)
      empty:arrive()
      state:advance()
      sum = sum + s[31 - t]
    end
    y[t] = sum
  end
end)
k{grid = 1, block = 64}(rand(f32, {32, 3}), zeros(f32, 32), 3)
