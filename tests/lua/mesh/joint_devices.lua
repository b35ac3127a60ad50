-- Launches of ranks that may wait for each other, on devices of one process: all are made ready before one begins.
-- The driver is one of tests/c. FAKE_MEET makes it end the program where a call would wait while the kernel of one
-- device waits for that of another. So no test here depends on time.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
local like = gpus.like
local log = gpus.dir .. "/order"

-- Kernel all_reduce waits for the other rank, if the driver is told so.
local prelude = [[
local m = mesh{ d = 2 }
local x = m:zeros(f32, { 2, 64 }, "(r@d,e)")
local function all()
  local list = {}
  for rank = 0, 1 do list[rank + 1] = view(peer_tensor(x, rank), 64) end
  return list
end
local body = function(parts, me, call)
  atomic_store(parts[me + 1], threadIdx.x, 1.0, { scope = "sys" })
end
local all_reduce = kernel("all_reduce", body)
local function launch(r, call, k, grid)
  (k or all_reduce){ grid = grid or 1, block = 32, cooperative = true }(all(), i32(r.rank), i32(call))
end
local plain = kernel("plain", function(y) y[threadIdx.x] = 1.0 end){ grid = 1, block = 32 }
]]

local function run(environment, text) return gpus.run(environment, gpus.script(prelude .. text)) end

-- The launches and waits in the order in which the devices got them.
local function order(environment, text)
  local out = run(("%s FAKE_ORDER_LOG='%s' timeout -s KILL 300"):format(environment, log), text)
  return gpus.read(log):gsub("\n", ", "):gsub(", $", ""), out
end

local done, out = order("FAKE_MEET='all_reduce 2'", [[
m:run(function(r)
  for call = 1, 2 do launch(r, call) end
  r:barrier()
  launch(r, 3)
  local own = kernel("all_reduce", body)            -- made, and collected, by each rank
  launch(r, 4, own)
  collectgarbage()
end)
print "done"
]])
tap.is(out, "done\n", "each launch has a list of its own to copy, and the second kernel a module")
tap.is(done, ("0: all_reduce, 1: all_reduce, "):rep(4):sub(1, -3), "ranks take turns")

done, out = order("FAKE_MEET='all_reduce 2'", [[
m:run(function(r)
  launch(r, 1)
  local y = full(f32, 32, 1.0)                      -- memory is allocated, written and freed
  plain(y)                                          -- comes after the launch before it
  y:close()
  r:barrier()
  plain(zeros(f32, 32))                             -- waits for nobody: begins at once
  plain(zeros(f32, 32))
end)
print "done"
]])
tap.is(out, "done\n", "memory between launches")
tap.is(done, "0: all_reduce, 1: all_reduce, 0: plain, 1: plain, "
  .. "0: plain, 0: plain, 1: plain, 1: plain",
  "what follows such a launch follows it on the device; other launches begin at once")

done, out = order("", [[
m:run(function(r)
  local mine = view(x:part(r.rank), 64)
  launch(r, 1); event():record()                    -- orders the stream
  plain(mine)
  launch(r, 2); assert(mine[0] == 0)                -- uses the memory
  plain(mine)
  launch(r, 3); synchronize()
  plain(mine)
  local g = graph(function() plain(mine) end)
  launch(r, 4); g()
  plain(mine)
  assert(bench(function() launch(r, 5) end, { batches = 1, reps = 1 }) > 0)
  plain(mine)
end)
print "done"
]])
tap.is(out, "done\n", "uses by the host")
local of_rank = "R: all_reduce, R: plain, R: all_reduce, R: plain, R: all_reduce, R: plain, "
  .. "R: plain, R: all_reduce, R: graph, R: plain, R: all_reduce, R: all_reduce, R: all_reduce, "
  .. "R: plain"
tap.is(done, of_rank:gsub("R", "0") .. ", " .. of_rank:gsub("R", "1"),
  "streams, elements, waits, graphs and bench come after the launches")

-- `cuttle bench` takes the times of launches that are gathered.
local script = gpus.script(prelude .. [[
m:run(function(r)
  for call = 1, 300 do launch(r, call) end
  r:barrier()
end)
]])
out = gpus.capture(gpus.command("FAKE_MEET='all_reduce 2' timeout -s KILL 300", script):gsub(
  "' '([^']*)'$", "' bench --device=cuda '%1'"))
like(out, "\nall_reduce %(x.lua:8%) +1 +32 +300 .*\nall_reduce %(x.lua:8%) +1 +32 +300 ", "bench")

-- A launch that is refused: none of the others has begun.
done, out = order("FAKE_MEET='all_reduce 2'", [[
m:run(function(r)
  launch(r, 1, nil, r.rank == 0 and 1 or 100000)
end)
]])
like(out, "^x.lua:16: launch: a cooperative grid of 100000 blocks; .*; the launch is that of "
  .. "rank 1\n", "a rank's launch that does not fit")
tap.is(done, "", "none begins")

-- Rank 1 launches nothing, so the kernel of rank 0 never ends. Ctrl-C comes while the program waits;
-- nothing that the driver would wait with is called from then on.
local places = {
  { "r:barrier()", "rank 0 waits at x.lua:%d+: barrier over all axes\n"
    .. "    on its device kernel 'all_reduce' %(x.lua:8%) may still run\n  rank 1 waits at x.lua" },
  { "if r.rank == 0 then print(x:part()) end", "^x.lua:%d+: .*\n  rank 0 runs\n"
    .. "    on its device kernel 'all_reduce' %(x.lua:8%) may still run\n  rank 1 runs\n" },
  { "", "^cuttle: device: the wait was interrupted; kernel 'all_reduce' %(x.lua:8%) may still "
    .. "run on cuda:0\n$" },
}
for _, place in ipairs(places) do
  local code
  out, code = run("FAKE_MEET='all_reduce 2' FAKE_SIGINT=3 timeout -s KILL 300",
    ("m:run(function(r)\n  if r.rank == 0 then launch(r, 1) end\n  %s\nend)\n"):format(place[1]))
  like(out, place[2], "Ctrl-C " .. (place[1] == "" and "at the end" or "in " .. place[1]))
  tap.is(code, 130, "exit code")
end
-- A call of the driver itself waits.
local stuck
out, stuck = run("FAKE_MEET='all_reduce 2' FAKE_STUCK=1 timeout -s KILL 300", [[
m:run(function(r)
  launch(r, 1)
  event():record()
end)
]])
like(out, "\ncuttle: stopped, but a call of a library does not return; the program ends\n$",
  "Ctrl-C in a call that does not return")
tap.is(stuck, 130, "exit code")

-- The same with a limit instead of Ctrl-C. Nobody aborts communicators, which would wait, too.
out = run("FAKE_MEET='all_reduce 2' CUTTLE_COMM_TIMEOUT=1 timeout -s KILL 300", [[
m:run(function(r)
  r:barrier()
  if r.rank == 0 then launch(r, 1) end
  r:barrier()
end)
]])
local late = "^x.lua:%d+: device: kernel 'all_reduce' %(x.lua:8%) on cuda:0 did not end within "
  .. "1.0 s, CUTTLE_COMM_TIMEOUT; it may wait for a rank that has ended, or is at another line\n"
  .. "  rank 0 waits at x.lua:%d+: barrier over all axes\n    on its device kernel 'all_reduce' "
  .. ".*\n  rank 1 waits at x.lua:%d+: barrier"
like(out, late, "a limit of time")
-- The watch over collectives comes to its limit first: what NCCL waits for when it aborts is given up before.
out = run("FAKE_MEET='all_reduce 2' FAKE_NCCL_MUTE=2 CUTTLE_COMM_TIMEOUT=1 timeout -s KILL 300", [[
m:run(function(r)
  r:barrier()
  if r.rank == 0 then launch(r, 1) end
  r:barrier()
end)
]])
like(out, late, "a limit of time, which a collective comes to first")
-- The first collective opens communicators, for which NCCL waits.
out = run("FAKE_MEET='all_reduce 2' CUTTLE_COMM_TIMEOUT=1 timeout -s KILL 300", [[
m:run(function(r)
  if r.rank == 0 then launch(r, 1) end
  r:barrier()
end)
]])
like(out, late, "a limit of time before communicators are there")
out = run("FAKE_MEET='all_reduce 2' CUTTLE_COMM_TIMEOUT=200 timeout -s KILL 300", [[
m:run(function(r)
  for call = 1, 200 do launch(r, call) end
  r:barrier()
end)
print "done"
]])
tap.is(out, "done\n", "launches that end in time")
gpus.done()
