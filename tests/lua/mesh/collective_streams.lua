-- Collectives in streams of a script's own, on a driver and an NCCL of tests/c: the works of a
-- communicator follow one another in whatever streams they are, and nothing else waits.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
local calls = gpus.dir .. "/calls"

local script = gpus.script(([[
local path, names = "CALLS", { cuStreamWaitEvent = true, cuEventRecord = true }
local m = mesh{ d = 2 }
local t = { [0] = full(f32, 4, 1):to "cuda:0", full(f32, 4, 2):to "cuda:1" }
local wide = { [0] = zeros(f32, 8):to "cuda:0", zeros(f32, 8):to "cuda:1" }
local streams = {}
local function log(name, f)
  m:run(function(r) if r.rank == 0 then os.remove(path) end f(r) end)
  local count = { cuStreamWaitEvent = 0, cuEventRecord = 0 }
  for line in io.lines(path) do
    if names[line] then count[line] = count[line] + 1 end
  end
  print(name, count.cuEventRecord, count.cuStreamWaitEvent)
end
m:run(function(r)
  streams[r.rank] = stream()
  r:all_reduce(t[r.rank])
end)
log("own", function(r) r:all_reduce(t[r.rank]) end)
log("other", function(r) r:all_reduce(t[r.rank], "d", { stream = streams[r.rank] }) end)
log("again", function(r)
  r:all_gather(t[r.rank], wide[r.rank], "d", { stream = streams[r.rank] })
end)
log("back", function(r)
  r:all_reduce(t[r.rank], nil, { reduce = "max" })
end)
log("mark", function(r)
  event():record(streams[r.rank]):wait()
end)
print(t[0][0], t[1][3], wide[1][7])
print((select(2, pcall(m.run, m, function(r)
  r:all_reduce(t[r.rank], nil, { stream = streams[0] })
end)):gsub("\n.*", "")))
streams[0]:close()
print((select(2, pcall(m.run, m, function(r)
  r:broadcast(t[r.rank], nil, { root = 1, stream = streams[r.rank] })
end)):gsub("\n.*", "")))
]]):gsub("CALLS", calls))

-- All marks of two ranks: one before and one after each collective.
tap.is(gpus.run("FAKE_CALLS_LOG=" .. calls, script), [[
own	4	0
other	4	2
again	4	0
back	4	2
mark	2	2
12.0	12.0	12.0
x.lua:31: all_reduce: the stream belongs to cuda:0, but rank 1 is cuda:1; make it in the function of m:run, where the rank's device is the current one
x.lua:35: the stream is closed
]], "each waits for the one before it where the stream changes")
gpus.done()
