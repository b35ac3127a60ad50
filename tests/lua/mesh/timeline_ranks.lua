-- The timeline of launches of ranks that run at once: all ranks on one axis, with their waits for each other's flags.
device "cpu:2"
local timeline = require "cuttle.timeline"
local m = mesh{ d = 2 }
local sys = { scope = "sys" }
local x, y = m:zeros(f32, { 2, 64 }, "(r@d,e)"), m:zeros(f32, { 2, 64 }, "(r@d,e)")
local flags = m:zeros(i32, { 2, 4 }, "(r@d,e)")

-- Rank 0 works longer before it tells, so rank 1 waits for it.
local give = kernel("give", function(mine, theirs, flag, flag_of_theirs, call, me, asks)
  local i, v = threadIdx.x, mine[threadIdx.x]
  if me == 0 then
    for _ in range(200) do v = v * 0.5 + 1.0 end
  end
  theirs[i] = v
  sync_threads()
  if i == 0 then
    atomic_store(flag_of_theirs, blockIdx.x, call, sys)
    while atomic_load(flag, asks, sys) < call do end
  end
  sync_threads()
  mine[i] = mine[i] + 1.0
end)
local after = kernel("after", function(t) t[threadIdx.x] = t[threadIdx.x] * 2 end)

local n_calls = 0
local function launch(r, asks, grid)
  local to = 1 - r.rank
  give{ grid = grid or 1, block = 64, cooperative = true }(view(x:part(), 64),
    view(peer_tensor(y, to), 64), view(flags:part(), 4), view(peer_tensor(flags, to), 4),
    i32(n_calls),
    i32(r.rank), i32(asks or 0))
end
local function run(options, f)
  local timelines, launches, ok, why = timeline.run(function()
    n_calls = n_calls + 1
    m:run(f)
  end, options)
  if not ok then print(why) end
  return timelines, launches
end
local function waits(row, what)
  local sum = 0
  for _, bar in ipairs(row.bars) do
    if bar.kind == "wait" and bar.what == what then sum = sum + bar.to - bar.from end
  end
  return sum
end
local function row_of(t, name)
  for _, row in ipairs(t.rows) do
    if row.name == name then return row end
  end
  error("no row " .. name .. " in\n" .. tostring(t))
end

-- Two launches of each rank at once, then a collective, then others.
local both, launches = run({}, function(r)
  launch(r)
  after{ grid = 1, block = 64 }(view(x:part(), 64))
  r:barrier()
  after{ grid = 1, block = 32 }(view(x:part(), 64))
end)
print(#both, #launches) -- expect: 2	6
local t = both[1]
print((tostring(t):match("^[^\n]*"):gsub("[^ ]*/", "")))
-- expect: ranks 0, 1, at once: give  timeline_ranks.lua:10, after  timeline_ranks.lua:24
print(tostring(t):match("\n(block[^:]*)")) -- expect: block (0,0,0) of each launch
for _, row in ipairs(t.rows) do print(row.name) end
-- expect: rank 0 give warp 0
-- expect: rank 0 give warp 1
-- expect: rank 0 after warps 0-1
-- expect: rank 1 give warp 0
-- expect: rank 1 give warp 1
-- expect: rank 1 after warps 0-1
local first, second = row_of(t, "rank 0 give warp 0"), row_of(t, "rank 1 give warp 0")
print(waits(second, "flag") - waits(first, "flag") > 500) -- expect: true
local last = row_of(t, "rank 1 after warps 0-1")
print(last.bars[1].what, last.bars[1].to > second.bars[#second.bars].to) -- expect: the launch before	true
print(tostring(both[2]):match("rank 1 warp 0") ~= nil) -- expect: true
local page = t:svg()
print(page:match(">rank 1<") ~= nil, page:match(">give warp 0<") ~= nil) -- expect: true	true

-- A flag takes its time from rank to rank.
local function alone(r) launch(r) end
local near, far = run({}, alone)[1], run({ model = { flag = 5500 } }, alone)[1]
print(("%d"):format(far.cycles - near.cycles)) -- expect: 4000

-- The first launch of each rank, or another one; other blocks tell by flags, too, and are not recorded.
print((run({ launch = 2 }, function(r) launch(r); launch(r) end)[1].rows[1].name:gsub("%d.*", "")))
-- expect: rank
local asked = run({}, function(r) launch(r, 1, 2) end)[1]
print(asked.rows[1].name, waits(asked.rows[2], "flag")) -- expect: rank 0 warps 0-1	0
local beside = run({ block = { 1 } }, function(r) launch(r, 1, 2) end)[1]
print(waits(row_of(beside, "rank 1 warp 0"), "flag") > 1000) -- expect: true

-- Launches that fail leave nothing; outside of m:run all is as ever.
local stop = kernel("stop", function(t) assert(t[0] < 0, "no") end)
local none, _, ok = timeline.run(function()
  m:run(function() stop{ grid = 1, block = 1 }(x:part()) end)
end, {})
print(#none, ok) -- expect: 0	false
local caught = timeline.run(function()
  pcall(m.run, m, function(r) launch(r) error("before they run") end)
  m:run(function() after{ grid = 1, block = 64 }(view(x:part(), 64)) end)
end, {})
print(#caught, (tostring(caught[1]):match("^[^\n]*"):gsub("[^ ]*/", "")))
-- expect: 1	ranks 0, 1, at once: after  timeline_ranks.lua:24
local one = timeline.run(function() after{ grid = 1, block = 64 }(zeros(f32, 64)) end, {})
print(#one, one[1].rows[1].name) -- expect: 1	warps 0-1

-- A session of one rank looks at its launches one after the other, as it may end before they run.
m:run(function(r)
  local mine = view(x:part(), 64)
  local own = timeline.run(function() after{ grid = 1, block = 64 }(mine) end, {})
  collectgarbage()
  r:barrier()
  if r.rank == 1 then print(#own, own[1].ranks) end
end)
-- expect: 1	nil
