-- `check` of launches in several streams, and in the branches of a graph: what no event orders must
-- not touch the same elements. Random programs at the end: which of their launches are reported is
-- compared with sets of launches that come before.
local tap = dofile "tests/support/tap.lua"
local check = require "cuttle.check"

local write = kernel("write", function(x, i, v) x[i] = v end)
local read = kernel("read", function(x, i, y) y[0] = x[i] end)
local write_half = kernel("write_half", function(x, i) x[i] = cast(1.0, f16) end)
local add = kernel("add", function(x, i) atomic_add(x, i, 1.0) end)

-- {====== Programs ======

local function launched(k, on, ...) k { grid = 1, block = 1, stream = on } (...) end

-- What is found, as "read read, write wrote": what the launch does, and what the earlier one did.
local function found(f)
  local x, y, z = zeros(f32, 64), zeros(f32, 1), zeros(f32, 1)
  local findings, _, ok, why = check.run(function() return f(x, y, z) end)
  if not ok then return why end
  local out = {}
  for i, finding in ipairs(findings) do
    local does, wrote = finding.message:match "^streams: (%l+) of .* in another stream, which (%l+)"
    out[i] = finding.kind == "race_streams" and does .. " " .. wrote or finding.message
  end
  return table.concat(out, ", ")
end

local function expect(name, want, f) tap.is(found(f), want, name) end

local side, third = stream(), stream()

expect("a read after a write", "read writes", function(x, y)
  launched(write, nil, x, 0, 1)
  launched(read, side, x, 0, y)
end)
expect("with an event between", "", function(x, y)
  launched(write, nil, x, 0, 1)
  side:wait(event():record())
  launched(read, side, x, 0, y)
end)
expect("with an event that is recorded too early", "read writes", function(x, y)
  local early = event():record()
  launched(write, nil, x, 0, 1)
  side:wait(early)
  launched(read, side, x, 0, y)
end)
expect("with a wait that comes too late", "read writes", function(x, y)
  launched(write, nil, x, 0, 1)
  local done = event():record()
  launched(read, side, x, 0, y)
  done:wait(side)
end)
expect("with a wait of another stream", "read writes", function(x, y)
  launched(write, nil, x, 0, 1)
  third:wait(event():record())
  launched(read, side, x, 0, y)
end)
expect("by way of a third stream", "", function(x, y)
  launched(write, side, x, 0, 1)
  third:wait(event():record(side))
  event():record(third):wait()
  launched(read, nil, x, 0, y)
end)
expect("a write after a read", "write reads", function(x, y)
  launched(read, side, x, 0, y)
  launched(write, nil, x, 0, 1)
end)
expect("a write after a write", "write writes", function(x)
  launched(write, side, x, 0, 1)
  launched(write, third, x, 0, 1)
end)
expect("two reads", "", function(x, y, z)
  launched(read, side, x, 0, y)
  launched(read, third, x, 0, z)
end)
expect("neighbours", "", function(x)
  launched(write, side, x, 0, 1)
  launched(write, third, x, 1, 1)
end)
expect("one stream", "", function(x, y)
  launched(write, side, x, 0, 1)
  launched(read, side, x, 0, y)
end)
expect("two atomic operations", "", function(x)
  launched(add, side, x, 0)
  launched(add, third, x, 0)
end)
expect("an atomic and a plain one", "read writes", function(x, y)
  launched(add, side, x, 0)
  launched(read, third, x, 0, y)
end)
expect("synchronize", "", function(x, y)
  launched(write, side, x, 0, 1)
  synchronize()
  launched(read, third, x, 0, y)
end)
expect("the host reads", "", function(x, y)
  launched(write, side, x, 0, 1)
  assert(x[0] == 1)
  launched(read, third, x, 0, y)
end)
expect("a workspace that is used again", "write reads", function(x, y)
  launched(write, nil, x, 0, 1)
  side:wait(event():record())
  launched(read, side, x, 0, y)
  launched(write, nil, x, 0, 2)
end)
expect("after a wait for the other stream", "", function(x, y)
  launched(write, nil, x, 0, 1)
  side:wait(event():record())
  launched(read, side, x, 0, y)
  event():record(side):wait()
  launched(write, nil, x, 0, 2)
end)
expect("an element of another type", "write writes", function(x)
  launched(write, side, x, 3, 1)
  launched(write_half, third, recast(x, f16), 7)
end)
expect("a stream that goes on under the number of a closed one", "read writes", function(x, y)
  local one = stream()
  one:close()
  local other = stream()
  launched(write, nil, x, 0, 1)
  launched(read, other, x, 0, y)
  other:close()
end)

expect("zeros that are made between wait for nothing", "read writes", function(x, y)
  launched(write, nil, x, 0, 1)
  local other = zeros(f32, 1)
  launched(write, nil, other, 0, 1)
  launched(read, side, x, 0, y)
end)
expect("zeros are a launch of the own stream", "read writes", function(_, y)
  local x = zeros(f32, 40)
  launched(read, side, x, 39, y)
end)
expect("and wait for that stream", "", function(_, y)
  launched(read, nil, y, 0, y)
  local x = zeros(f32, 40)
  launched(read, nil, x, 39, y)
  side:wait(event():record())
  launched(read, side, x, 39, y)
end)

local x0, y0 = zeros(f32, 1), zeros(f32, 1)
tap.is(#check.run(function()
  launched(write, nil, x0, 0, 1)
  launched(read, side, x0, 0, y0)
end, { global = false }), 0, "--no-global")

-- {====== Graphs ======

expect("branches of a graph", "read writes", function(x, y)
  graph(function()
    launched(write, nil, x, 0, 1)
    launched(read, side, x, 0, y)
  end)()
end)
expect("with an event", "", function(x, y)
  local done = event()
  local g = graph(function()
    launched(write, nil, x, 0, 1)
    done:record()
    side:wait(done)
    launched(read, side, x, 0, y)
  end)
  g()
  g()
end)
expect("a branch comes after what was launched before the graph", "", function(x, y)
  launched(write, nil, x, 0, 1)
  graph(function() launched(read, side, x, 0, y) end)()
end)
expect("and before what is launched after it", "", function(x, y)
  graph(function() launched(write, side, x, 0, 1) end)()
  launched(read, nil, x, 0, y)
end)
expect("but not before another stream", "read writes", function(x, y)
  graph(function() launched(write, side, x, 0, 1) end)()
  launched(read, third, x, 0, y)
end)

-- {====== Random programs ======

local N_PROGRAMS <const>, N_STEPS <const>, N_EVENTS <const> = 60, 24, 3
local streams <const> = { false, side, third }

local function union(a, b)
  for launch in pairs(b) do a[launch] = true end
end

-- Launches so far that the new one is not ordered with and that use its element.
local function conflicts(past, known, launch)
  for _, old in ipairs(past) do
    if not known[old] and old.element == launch.element and (old.writes or launch.writes) then
      return true
    end
  end
  return false
end

-- A step of the model, and of the script. The step is {what, stream, event, element}.
local steps = {}

function steps.launch(m, s, _, element, x, y)
  local launch = { element = element, writes = m.random(2) == 1 }
  if conflicts(m.past, m.known[s], launch) then m.n = m.n + 1 end
  m.past[#m.past + 1] = launch
  m.known[s][launch] = true
  if launch.writes then
    launched(write, streams[s] or nil, x, element, 1)
  else
    launched(read, streams[s] or nil, x, element, y[s])
  end
end

function steps.record(m, s, e)
  m.events[e] = {}
  union(m.events[e], m.known[s])
  m.real[e]:record(streams[s] or nil)
end

function steps.wait(m, s, e)
  union(m.known[s], m.events[e])
  if streams[s] then streams[s]:wait(m.real[e]) else m.real[e]:wait() end
end

function steps.synchronize(m)
  m.past = {}
  synchronize()
end

local names <const> = { "launch", "launch", "launch", "launch", "record", "wait", "wait" }

local function run_program(seed)
  local state = seed
  local function random(n)
    state = (state * 1103515245 + 12345) % (1 << 31)
    return (state >> 8) % n + 1
  end
  local x, y = zeros(f32, 4), { zeros(f32, 1), zeros(f32, 1), zeros(f32, 1) }
  local m = { n = 0, past = {}, known = { {}, {}, {} }, events = {}, real = {}, random = random }
  for e = 1, N_EVENTS do m.events[e], m.real[e] = {}, event() end
  local findings, _, ok, why = check.run(function()
    for _ = 1, N_STEPS do
      local step = random(12) == 1 and "synchronize" or names[random(#names)]
      steps[step](m, random(3), random(N_EVENTS), random(4) - 1, x, y)
    end
  end)
  assert(ok, why)
  local n = 0
  for _, finding in ipairs(findings) do n = n + finding.count end
  return n, m.n
end

local n_wrong, n_found = 0, 0
for seed = 1, N_PROGRAMS do
  local got, want = run_program(seed)
  if got ~= want then
    n_wrong = n_wrong + 1
    print(("# program %d: %d launches reported, %d expected"):format(seed, got, want))
  end
  n_found = n_found + want
end
tap.is(n_wrong, 0, "random programs")
tap.ok(n_found > 3 * N_PROGRAMS, "many of their launches are reported", n_found)
tap.done()
