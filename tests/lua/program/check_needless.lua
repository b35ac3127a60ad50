-- `check --needless`: which barriers, fences, waits and orders could go, by line.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local path <const> = os.tmpname()

local function check(source, options)
  local file <close> = assert(io.open(path, "w"))
  file:write(source)
  file:close()
  local text, code = shell.cuttle("check --needless %s %s", options or "", path)
  text = text:gsub("%f[^\0\n]" .. path:gsub("%p", "%%%0"), "FILE")
  return text, code
end

-- The lines that could go, as "3 sync_threads(), 5 fence()", and how many places were tried.
local function judged(source, options)
  local found, text = {}, check(source, options)
  for line, what in text:gmatch "FILE:(%d+): ([^\n]-) is needless in" do
    found[#found + 1] = line .. " " .. what
  end
  local none = text:find "no barrier, wait, fence or order ran" and 0
  return table.concat(found, ", "), none or tonumber(text:match "each of (%d+)"), text
end

local function is(source, options, want, tried, name)
  local found, n, text = judged(source, options)
  tap.ok(found == want and n == tried, name, text)
end

-- Line 4 is needed, line 5 orders nothing that line 4 does not.
local TWICE <const> = [[
local twice = kernel("twice", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  local z = s[63 - threadIdx.x]
  sync_threads()
  y[threadIdx.x] = z
end)
twice{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
]]
is(TWICE, "", "6 sync_threads()", 2, "a barrier after the last access could go")
local text, code = check(TWICE)
tap.is(text, "FILE:6: sync_threads() is needless in 1 launch: without it, nothing new is "
  .. "found, and the results are the same\n"
  .. "check: --needless: each of 2 barriers, waits, fences and orders was left out by itself, in "
  .. "1 judged launch; other sizes or data may need what these do not, and "
  .. "without one of them another may be needed\ncheck: no finding in 1 launch\n", "the report")
tap.is(code, 0, "what could go is no finding")
is(TWICE:gsub("63 %- threadIdx.x", "threadIdx.x"), "", "4 sync_threads(), 6 sync_threads()", 2,
  "threads that read what they wrote themselves need no barrier")

-- The same line in a loop: the barrier is needed as soon as the loop turns twice.
local LOOP <const> = [[
local loop = kernel("loop", function(x, y, n)
  local s = shared(f32, 64)
  for i in range(n) do
    s[threadIdx.x] = x[threadIdx.x + i * 64]
    sync_threads()
    y[threadIdx.x + i * 64] = s[63 - threadIdx.x]
    sync_threads()
  end
end)
for _, n in ipairs { %s } do
  loop{grid = 1, block = 64}(rand(f32, 128), zeros(f32, 128), n)
end
]]
is(LOOP:format "1", "", "7 sync_threads()", 2, "one turn needs one barrier")
is(LOOP:format "1, 2", "", "", 2, "what one launch needs is needed")
is(LOOP:format "0", "", "", 0, "a barrier that did not run is not judged")

-- A line that two kernels run: one of them needs it.
local SHARED <const> = [[
local function meet() sync_threads() end
local alone = kernel("alone", function(y)
  y[threadIdx.x] = 1
  meet()
end)
local turned = kernel("turned", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  meet()
  y[threadIdx.x] = s[63 - threadIdx.x]
end)
alone{grid = 1, block = 64}(zeros(f32, 64))
]]
is(SHARED, "", "1 sync_threads()", 1, "a line in a function")
is(SHARED .. "turned{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))\n", "", "", 1,
  "what one kernel needs is needed")

-- A message between blocks: line 4 and the store's own release order the same.
local MESSAGE <const> = [[
local message = kernel("message", function(x, flag, y)
  if blockIdx.x == 0 then
    x[0] = 42
    fence()
    atomic_store(flag, 0, 1)
  else
    while atomic_load(flag, 0) == 0 do end
    y[0] = x[0]
  end
end)
message{grid = 2, block = 1}(zeros(i32, 1), zeros(i32, 1), zeros(i32, 1))
]]
is(MESSAGE, "", "4 fence(), 5 the release of an atomic operation", 3,
  "of a fence and a release one could go, but not the acquire")
tap.ok(check(MESSAGE):find "FILE:4: [^\n]*; see for yourself whether one atomic operation needs it",
  "no run shows what atomic operations need of each other")
is(MESSAGE:gsub("    fence%(%)\n", ""), "", "", 2, "a release and an acquire are needed")
is(MESSAGE:gsub("atomic_store%(flag, 0, 1%)", "atomic_add(flag, 0, 1, {order = \"acq_rel\"})")
  :gsub("    fence%(%)\n", ""), "", "4 the acquire of an atomic operation", 3,
  "half of an order could go")
is(MESSAGE, "--schedules=all", "4 fence(), 5 the release of an atomic operation", 3,
  "nor in other orders")

-- The wait at line 5 is needed, that at line 7 waits for nothing. Waits that nobody wrote are not
-- judged.
local COPY <const> = [[
local copied = kernel("copied", function(x, y)
  local s = shared(f32, 64)
  copy(parallelize(tile(x, 64, 0), layout(64), threadIdx.x),
    parallelize(s, layout(64), threadIdx.x))
  cp_async_wait(0)
  sync_threads()
  cp_async_wait(0)
  y[threadIdx.x] = s[63 - threadIdx.x]
end)
copied{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
]]
is(COPY, "", "7 cp_async_wait()", 3, "a wait for nothing could go")
is(COPY:gsub("  cp_async_wait%(0%)\n", ""), "", "", 1, "waits that nobody wrote")

-- A ring of one stage: without the wait at line 5 the store overtakes the reader.
local RING <const> = [[
local ring = kernel("ring", function(x, y)
  local s, full, empty = shared(i32, 32), mbarrier(1, 32), mbarrier(1, 32)
  sync_threads()
  if threadIdx.x < 32 then
    for i in range(3) do
      if i >= 1 then empty[0]:wait((i + 1) % 2) end
      s[threadIdx.x] = x[i * 32 + threadIdx.x]
      full[0]:arrive()
    end
  else
    for i in range(3) do
      full[0]:wait(i % 2)
      sync_warp()
      y[i * 32 + threadIdx.x - 32] = s[threadIdx.x - 32]
      empty[0]:arrive()
    end
  end
end)
ring{grid = 2, block = 64}(zeros(i32, 96), zeros(i32, 96))
]]
local found, _, ring = judged(RING)
tap.ok(found:find("13 sync_warp()", 1, true) and not found:find "wait for", "waits of a ring stay",
  ring)

-- A launch in which something is found is not judged.
local RACE <const> = TWICE:gsub("  sync_threads%(%)\n  local", "  local")
local raced, race_code = check(RACE)
tap.ok(raced:find("FILE:4: race: ", 1, true) and raced:find("no launch was judged", 1, true)
  and race_code == 1, "a launch with a finding is not judged", raced)

-- Nor is one that lets the next one begin before it ends.
is(TWICE:gsub("  y%[threadIdx", "  grid_dependency_launch()\n%0"), "", "", nil,
  "a launch that may run beside others is not judged")

local json = check(TWICE, "--json")
tap.ok(json:find('"what":%s*"sync_threads%(%)"') and json:find '"tried":%s*2', "JSON", json)

os.remove(path)
tap.done()
