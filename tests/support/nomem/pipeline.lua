local roles = kernel("roles", function(n, x, y)
  local s = shared(f32, {32, 2})
  local full, empty = mbarrier(2, 32), mbarrier(2, 32)
  sync_threads()
  local t = threadIdx.x % 32
  if threadIdx.x < 32 then
    local state = pipeline_state(2, {parity = 1})
    for i in range(n) do
      empty[state.slot]:wait(state.parity)
      s[{t, state.slot}] = x[{t, i}]
      full[state.slot]:arrive()
      state:advance()
    end
  else
    local state, sum = pipeline_state(2), 0.0
    for i in range(n) do
      full[state.slot]:wait(state.parity)
      sum = sum + s[{31 - t, state.slot}]
      empty[state.slot]:arrive()
      state:advance()
    end
    y[t] = sum
  end
end)
local y = zeros(f32, 32)
roles{grid = 1, block = 64}(9, ones(f32, {32, 9}), y)
assert(y[31] == 9.0)
