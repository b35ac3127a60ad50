-- Roles of warp groups: parts of a block that a run-time if chooses divide work among themselves; check
-- finds nothing.
-- needs sm_90a
local roles = kernel("roles", function(A, C, n)
  local s = shared(f32, {32, 32, 2})
  local full, empty = mbarrier(2, 128), mbarrier(2, 2)
  sync_threads()
  if threadIdx.x < 128 then
    setmaxnreg(40)
    local state, threads = pipeline_state(2, {parity = 1}), layout{8, 16}
    for i in range(n) do
      empty[state.slot]:wait(state.parity)
      copy(parallelize(A(_, _, i), threads, threadIdx.x),
        parallelize(s(_, _, state.slot), threads, threadIdx.x))
      full[state.slot]:arrive()
      state:advance()
    end
  else
    setmaxnreg(232)
    local t = threadIdx.x - 128
    local group = named_barrier(1 + t // 128, 128)
    local state, acc = pipeline_state(2), fragment(f32, {2, 2})
    clear(acc)
    for i in range(n) do
      full[state.slot]:wait(state.parity)
      axpby(1, parallelize(s(_, _, state.slot), layout{16, 16}, t), 2, acc)
      group:sync()
      if t % 128 == 0 then empty[state.slot]:arrive() end
      state:advance()
    end
    copy(acc, parallelize(C, layout{16, 16}, t))
  end
end, {static_shapes = true})

manual_seed(3)
local A, C = rand(f32, {32, 32, 5}), tensor(f32, {32, 32})
for i = 0, size(A) - 1 do A[i] = 64 * A[i] // 1 end
local on_cpu <const> = not device().sm -- where checks are made
roles{grid = 2, block = 384, check = on_cpu}(A, C, 5)
local wrong = 0
for i = 0, 31 do
  for j = 0, 31 do
    local sum = 0
    for k = 0, 4 do sum = 2 * sum + A[{i, j, k}] end
    wrong = wrong + (C[{i, j}] == sum and 0 or 1)
  end
end
print(wrong) -- expect: 0

-- In the role, its threads count from 0: no negative index is divided.
local text = roles{grid = 1, block = 384}:source(A, C, 5)
print(text:find("__launch_bounds__(384, 1)", 1, true) ~= nil, text:find("floormod", 1, true),
  text:find("t % 16", 1, true) ~= nil) -- expect: true	nil	true

-- What holds under the condition only is not said of the same difference elsewhere.
local before = kernel("before", function(x)
  local y = 0
  if threadIdx.x >= 32 then y = (threadIdx.x - 32) // 5 end
  x[threadIdx.x] = y + 100 * ((threadIdx.x - 32) // 5)
end)
local x = zeros(i32, 64)
before{grid = 1, block = 64}(x)
print(x[0], x[31], x[32], x[63]) -- expect: -700	-100	0	606

-- Each kind of barrier orders lanes of a warp, too.
local lanes = kernel("lanes", function(y)
  local s, bar, t = shared(f32, 64), mbarrier(1, 64), threadIdx.x
  s[t] = t
  sync_threads()
  y[t] = s[63 - t] + s[t ~ 1]
  sync_threads()
  s[t] = 2 * t
  bar:arrive()
  bar:wait(0)
  y[t] = y[t] + s[t ~ 1]
  named_barrier(1 + t // 32, 32):sync()
  s[t] = 3 * t
  named_barrier(1 + t // 32, 32):sync()
  y[t] = y[t] + s[t ~ 1]
end)
local y = zeros(f32, 64)
lanes{grid = 1, block = 64, check = on_cpu}(y)
print(y[0], y[63]) -- expect: 69.0	372.0
