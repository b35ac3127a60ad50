-- Peers of other processes, on a driver and an NCCL of tests/c. Kernels do nothing there, so the driver's log says
-- what is in the memory that was opened. tests/device/ipc.lua runs kernels on it.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)

local n_runs = 0
-- The script in three processes: the output of each, and the logs of their drivers.
local function run(script, limit)
  n_runs = n_runs + 1
  local boxes, commands, outs, logs = ("%s/boxes%d"):format(gpus.dir, n_runs), {}, {}, {}
  os.execute(("mkdir '%s'"):format(boxes))
  for rank = 0, 2 do
    local who = ("FAKE_IPC_LOG='%s/log%d' FAKE_NCCL_DIR='%s' CUTTLE_COMM_TIMEOUT=%d RANK=%d "
      .. "LOCAL_RANK=%d WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500")
      :format(gpus.dir, rank, boxes, limit or 30, rank, rank)
    commands[rank + 1] = ("timeout 300 %s > '%s/out%d' 2>&1 &"):format(gpus.command(who, script),
      gpus.dir, rank)
  end
  os.execute(table.concat(commands, " ") .. " wait")
  for rank = 0, 2 do
    outs[rank] = gpus.read(("%s/out%d"):format(gpus.dir, rank)):gsub(gpus.dir .. "/s%d+", "x")
    logs[rank] = gpus.read(("%s/log%d"):format(gpus.dir, rank))
  end
  return outs, logs
end

-- The parts of a sharded tensor, the last of which is shorter, and tensors of ranks.
local outs, logs = run(gpus.script [[
local m = mesh{ d = 3 }
local x = shard(from_table(f32, { 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5 }):to "cpu", "(M@d)", m)
local k = kernel("k", function(theirs, mine) mine[0] = theirs[0] end)
local l = kernel("l", function(all, mine) mine[0] = all[1][0] + all[2][1] end)
m:run(function(r)
  local to, from = (r.rank + 1) % 3, (r.rank + 2) % 3
  local next = peer_tensor(x, to)
  assert(next == peer_tensor(x, to) and next.dtype == f32 and next.device == x:part().device)
  assert(size(next) == (to == 2 and 2 or 3) and size(peer_tensor(x, from)) == (from == 2 and 2 or 3))
  assert(peer_tensor(x, r.rank) == x:part())
  k{grid = 1, block = 1}(next, x:part())
  l{grid = 1, block = 1}({ next, peer_tensor(x, from) }, x:part())
  print(select(2, pcall(fill, next, 1)))
end)
x:close()
local own = m:zeros(i32, { 12 }, "(M@d)")
m:run(function(r)
  local t = tile(own:part(), { 2 }, { 1 })
  local peers = r:peers(t)
  assert(rawequal(peers[r.rank], t) and size(peers[(r.rank + 1) % 3]) == 2)
  k{grid = 1, block = 1}(peers[(r.rank + 1) % 3], t)
  r:barrier()
end)
print(select(2, pcall(m.run, m, function(r) r:peers(zeros(f32, 4)) end)))
print(select(2, pcall(m.run, m, function(r)
  r:peers(tile(own:part(), { r.rank < 2 and 2 or 4 }, { 0 }))
end)))
]])
for rank = 0, 2 do
  gpus.like(outs[rank], "fill: next is memory of another rank, which only kernels can use; "
    .. "do that on its own rank\n", "only kernels use it, rank " .. rank)
  gpus.like(outs[rank], "x.lua:24: peers: rank %d cannot share its tensor with other processes: it "
    .. "is in memory private to this process; use a part of a sharded tensor, as "
    .. "m:zeros%(dtype, shape, spec%) makes it\n", "memory of a pool")
  gpus.like(outs[rank], "x.lua:26: peers: rank %d gives i32 %S+, but this rank gives i32 %S+; "
    .. "all ranks give tensors of one type and layout\n", "other layouts")
  local first = { [0] = "0.5 1.5", "3.5 4.5", "6.5 7.5" }
  local next, last = first[(rank + 1) % 3], first[(rank + 2) % 3]
  local seen = ("open 2097152 bytes: %s\nopen 2097152 bytes: %s\n"):format(next, last)
  tap.is(logs[rank]:sub(1, #seen), seen, "what rank " .. rank .. " opens is what others wrote")
  tap.is(select(2, logs[rank]:gsub("open", "")), select(2, logs[rank]:gsub("close", "")),
    "what is opened is closed")
end

-- A rank of another machine. Which one it is says the system. All stay until each has tried: a rank that ends takes
-- its memory along.
outs = run(gpus.script [[
local open = io.open
function io.open(path, ...)
  if path ~= "/proc/sys/kernel/random/boot_id" or os.getenv "RANK" ~= "1" then
    return open(path, ...)
  end
  return { read = function() return "another" end, close = function() end }
end
local m = mesh{ d = 3 }
local x = m:zeros(f32, { 6 }, "(M@d)")
m:run(function(r)
  local ok, why = pcall(peer_tensor, x, (r.rank + 1) % 3)
  r:barrier()
  if not ok then error(why, 0) end
end)
]])
local apart = "x.lua:%d+: peer_tensor: rank %d is on another machine, whose memory kernels of this "
  .. "one do not reach; use collectives, such as r:all_gather%(src, dst%)\n"
gpus.like(outs[0], (apart:gsub("rank %%d", "rank 1")), "rank 1 is on another machine than rank 0")
gpus.like(outs[1], (apart:gsub("rank %%d", "rank 2")), "rank 2 is on another machine than rank 1")
tap.is(outs[2], "", "rank 0 is on the machine of rank 2")

-- A rank that never comes to it.
outs = run(gpus.script [[
local m = mesh{ d = 3 }
local x = m:zeros(f32, { 6 }, "(M@d)")
m:run(function(r) if r.rank > 0 then peer_tensor(x, 0) end end)
]], 3)
gpus.like(outs[1], "x.lua:3: ", "the line of the first peer that waits")
gpus.done()
