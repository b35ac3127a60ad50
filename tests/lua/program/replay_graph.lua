-- A graph of the CPU engine in a file: its launches run again with the same bits, in the same
-- memory, and `check` finds what two of its launches do wrong: early reads, branches without an
-- event.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local check = require "cuttle.check"
local file = os.tmpname()

local fill = kernel("fill", function(work, v) work[threadIdx.x] = v end)
local use = kernel("use", function(work, y) y[threadIdx.x] = work[threadIdx.x] + 1 end)
local early = kernel("early", function(y, z)
  local v = y[threadIdx.x]
  grid_dependency_wait()
  z[threadIdx.x] = 2 * v + z[threadIdx.x]
end)
local late = kernel("late", function(y, z)
  grid_dependency_wait()
  z[threadIdx.x] = 2 * y[threadIdx.x] + z[threadIdx.x]
end)

-- A graph of two branches; `ordered`: by an event.
local function record(reads, ordered)
  local memory, y, z, x = rand(f32, 64), rand(f32, 32), rand(f32, 32), rand(f32, 32)
  local work = tile(memory, { 32 }, { 1 })
  local side, done = stream(), event()
  return graph(function()
    copy(x, z)
    clear(y)
    fill{ grid = 1, block = 32 }(work, 5.0)
    if ordered then
      done:record()
      side:wait(done)
    end
    use{ grid = 1, block = 32, stream = side }(work, y)
    reads{ grid = 1, block = 32, pdl = true, stream = side }(y, z)
  end), z, memory
end

local function found(reads, ordered)
  capture(record(reads, ordered), file)
  local launch = replay(file)
  local findings, n = check.run(launch)
  return findings, n
end

local g, z, memory = record(late, true)
capture(g, file, { data = true })
local launch, regions, info = replay(file)
tap.ok(not pcall(launch, 1), "a replayed graph has its arguments")
g()
launch()
local want, got = {}, {}
for _, t in ipairs(regions) do
  local floats = recast(t, f32)
  for i = 0, size(floats) - 1 do got[floats[i]] = true end
end
for i = 0, 31 do want[#want + 1] = z[i] end
local n = 0
for _, v in ipairs(want) do n = n + (got[v] and 1 or 0) end
tap.ok(n == 32 and memory[40] == 5, "the same bits", n)
tap.ok(#info.launches == 3 and info.launches[2].kernel == "use" and #regions == 4,
  "its launches and regions of memory")

local findings, n_launches = found(late, true)
tap.ok(#findings == 0 and n_launches == 3, "a right graph", check.report(findings, n_launches))
findings = found(late, false)
tap.ok(#findings == 1 and findings[1].kind == "race_streams" and findings[1].buffer == "work"
  and findings[1].line == 10, "a missing event", check.report(findings, 1))
findings = found(early, true)
tap.ok(#findings == 1 and findings[1].kind == "dependent_launch" and findings[1].line == 12,
  "an early read", check.report(findings, 1))

-- {====== The program ======

local function run(arguments)
  local text = shell.cuttle(arguments)
  return text:gsub(file:gsub("%p", "%%%0"), "FILE")
end

capture(record(early, false), file)
tap.ok(run("replay --info " .. file)
  == "FILE: graph of 3 launches and 2 other steps, with 4 regions of memory\n", "--info")
tap.ok(run("--device=cpu replay " .. file):find "replay: it ended on the CPU engine", "replay")
local text = run("check " .. file)
tap.ok(text:find("streams: read of work", 1, true) and text:find("pdl: read of y", 1, true)
  and text:find("check: 2 findings in 3 launches", 1, true), "check", text)

-- {====== Files from others ======

local whole
do
  local f <close> = assert(io.open(file, "rb"))
  whole = f:read "a"
end

-- What replay says of the file if `from` in its lines is `to`.
local function says(from, to, part)
  local changed, n_changes = whole:gsub(from, to, 1)
  local f = assert(io.open(file, "wb"))
  f:write(changed)
  f:close()
  local ok, why = pcall(function() replay(file)() end)
  tap.ok(n_changes == 1 and not ok and why:find(part, 1, true), to, why)
end
says("region %d+", "region 99999999999", "asks for 93.1 GiB of memory")
says("region 128", "region 64", "outside")
says("clear %d+ ", "clear 77 ", "a step of the graph is outside its memory")
says("\nclear %d+", "\nstep 1", "is not one of a graph's file")
says("\nend\n.*", "\n", "no line says 'end'")
says("(launch 0 )%d+", "%15", "")
os.remove(file)

local ok, why = pcall(capture, g, file, { dta = true })
tap.ok(not ok and why:find("option 'dta' is unknown; did you mean 'data'?", 1, true),
  "an option", why)
tap.done()
