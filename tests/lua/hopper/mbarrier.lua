-- mbarriers: a ring of slots between a producer and a consumer, phases, counts.

local function ring(stages, arrivals)
  return kernel("ring", function(A, C, steps)
    local s = shared(f32, {32, stages})
    local full, empty = mbarrier(stages, arrivals), mbarrier(stages, arrivals)
    sync_threads()
    local lane = threadIdx.x % 32
    if threadIdx.x < 32 then
      local state = pipeline_state(stages, {parity = 1})
      for i in range(steps) do
        empty[state.slot]:wait(state.parity)
        s[{lane, state.slot}] = A[{lane, i}]
        if arrivals == 32 or lane == 0 then full[state.slot]:arrive() end
        state:advance()
      end
    else
      local state, sum = pipeline_state(stages), 0.0
      for i in range(steps) do
        full[state.slot]:wait(state.parity)
        sum = 2 * sum + s[{31 - lane, state.slot}]
        if arrivals == 32 or lane == 0 then empty[state.slot]:arrive() end
        state:advance()
      end
      C[lane] = sum
    end
  end)
end

local function expected(A, steps, lane)
  local sum = 0.0
  for i = 0, steps - 1 do sum = 2 * sum + A[{31 - lane, i}] end
  return sum
end

manual_seed(7)
local A, C = rand(f32, {32, 13}, -8, 8), tensor(f32, 32)
for i = 0, 31 do for j = 0, 12 do A[{i, j}] = A[{i, j}] // 1 end end -- so that sums are exact
for stages = 1, 5 do
  for _, steps in ipairs{0, 1, 4, 13} do
    fill(C, -1)
    ring(stages, stages % 2 == 0 and 1 or 32){grid = 2, block = 64}(A, C, steps)
    for lane = 0, 31 do assert(C[lane] == expected(A, steps, lane), stages .. " " .. steps) end
  end
end
print("rings agree") -- expect: rings agree

-- One barrier counts several phases; test says what wait would wait for.
local phases = kernel("phases", function(out, n)
  local b = mbarrier(1, 2)
  sync_threads()
  for i in range(n) do
    out[{i, 0}] = where(b:test(0), 1, 0)
    out[{i, 1}] = where(b:test(1), 1, 0)
    b:arrive()
  end
end)
local out = zeros(i32, {6, 2})
phases{grid = 1, block = 1}(out, 6)
local seen = {}
for i = 0, 5 do seen[#seen + 1] = out[{i, 0}] .. out[{i, 1}] end
print(table.concat(seen, " ")) -- expect: 01 01 10 10 01 01

-- A loop that tests instead of waiting; the other warp arrives later.
local spin = kernel("spin", function(out)
  local b, go = mbarrier(2, 32), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x < 32 then
    if threadIdx.x == 0 then go:arrive() end
    local turns = 0
    while not b[1]:test(0) do turns = turns + 1 end
    out[threadIdx.x] = 5
  else
    go:wait(0)
    b[1]:arrive()
  end
end)
local spun = zeros(i32, 32)
spin{grid = 1, block = 64}(spun)
print(spun[0], spun[31]) -- expect: 5	5

-- Bytes that are expected are waited for, even where all have arrived.
local missing = kernel("missing", function(x)
  local full = mbarrier(3, 1)
  sync_threads()
  if threadIdx.x < 32 then
    if elect_one() then full[2]:arrive_expect_tx(256) end
  else
    full[2]:wait(0)
    x[0] = 1
  end
end)
print(select(2, pcall(missing{grid = 1, block = 128}, spun)))  -- expect: tests/lua/hopper/mbarrier.lua:89: deadlock in block (0,0,0): warps 1 to 3 wait at line 89 for full[2], parity 0: 256 bytes are missing

-- Named barriers: two groups that take turns, over three barriers with a run-time number.
local turns = kernel("turns", function(x, n)
  local s = shared(i32, 1)
  local group = threadIdx.x // 64
  if threadIdx.x == 0 then s[0] = 0 end
  sync_threads()
  if group == 1 then named_barrier(1, 128):arrive() end
  for i in range(n) do
    named_barrier(1 + group, 128):sync()
    if threadIdx.x % 64 == 0 then
      s[0] = 2 * s[0] + group
      x[2 * i + group] = s[0]
    end
    if group == 0 or i < n - 1 then named_barrier(2 - group, 128):arrive() end
  end
end)
local x = zeros(i32, 6)
turns{grid = 1, block = 128}(x, 3)
print(x[0], x[1], x[2], x[3], x[4], x[5]) -- expect: 0	1	2	5	10	21

-- A warp that has ended is not waited for.
local ended = kernel("ended", function(y)
  local b = mbarrier(1, 32)
  sync_threads()
  if threadIdx.x < 32 then return end
  if threadIdx.x < 64 then b:arrive() else b:wait(0) end
  sync_threads()
  y[threadIdx.x] = 1
end)
local y = zeros(f32, 96)
ended{grid = 1, block = 96}(y)
print(y[31], y[32], y[95]) -- expect: 0.0	1.0	1.0

-- slots are passed over; more than all of them at once.
local skip = kernel("skip", function(t, by)
  local state = pipeline_state(3, {slot = 2, parity = 1})
  local fixed, far = pipeline_state(3), pipeline_state(3)
  for i in range(size(t, 0)) do
    t[{i, 0}], t[{i, 1}], t[{i, 2}], t[{i, 3}] = state.slot, state.parity, fixed.slot, fixed.parity
    t[{i, 4}], t[{i, 5}] = far.slot, far.parity
    state:advance(by)
    fixed:advance(2)
    far:advance(7)
  end
end)
for _, by in ipairs{0, 1, 2, 3, 4, 7} do
  local t = zeros(i32, {7, 6})
  skip{grid = 1, block = 1}(t, by)
  for i = 0, 6 do
    local at, two, seven = 2 + i * by, 2 * i, 7 * i
    assert(t[{i, 0}] == at % 3 and t[{i, 1}] == (1 + at // 3) % 2)
    assert(t[{i, 2}] == two % 3 and t[{i, 3}] == two // 3 % 2)
    assert(t[{i, 4}] == seven % 3 and t[{i, 5}] == seven // 3 % 2)
  end
end
print("slots agree") -- expect: slots agree
-- needs sm_90
