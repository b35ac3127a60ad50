-- Sharded tensors and ranks on CUDA devices, which a driver and an NCCL of tests/c play: in one
-- process with all devices, and in a process for each. Kernels do nothing there, so only plans whose
-- copies are whole rows are right. With processes, what follows a collective must wait for it.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)

local script = gpus.script [[
local m = mesh{ d = device().n_devices }
local t = arange(f32, { 8, 24 }):to "cpu"
local function same(a, b) return reference.difference(a:to "cpu", b:to "cpu") == nil end
for _, p in ipairs{ { "(M,K@d)", "(M,K)" }, { "(M,K,@d+)", "(M,K@d)" }, { "(M,K,@d+)", "(M,K)" },
  { "(M,K)", "(M,K@d)" } } do
  local x, want = shard(t, p[1], m), shard(t, p[2], m)
  local y = reshard(x, p[2])
  synchronize()
  for _, ok in pairs(m:run(function() return same(y:part(), want:part()) end)) do assert(ok) end
  if m.n == 8 then assert(same(x:whole(), t) and same(y:whole(), t)) end
end
local results = m:run(function(r)
  local a, b, c = full(f32, 4, r.rank), zeros(f32, 4), full(f32, 4, r.rank)
  r:all_reduce(a)
  r:send_recv(c, (r.rank + 1) % m.n, b, (r.rank + m.n - 1) % m.n)
  r:barrier()
  local text = ("%s: sum %g, %g from the ring"):format(a.device, a[0], b[3])
  local ok, g = pcall(graph, function() r:all_reduce(a); r:barrier() end)
  for _ = 1, ok and 3 or 0 do g() end
  return text .. ", " .. tostring(g):gsub("^.-: ", ""):gsub(" on .*", "")
end)
for rank = 0, m.n - 1 do print(results[rank]) end
-- Of all ranks at once, in one process, too.
local sums = m:run(function(r) return full(f32, 4, r.rank) end)
local all = graph(function() m:run(function(r) r:all_reduce(sums[r.rank]); r:barrier() end) end)
for _ = 1, 3 do all() end
synchronize()
print((tostring(all):gsub("cuda:%d", "a device")))
]]

-- Eight devices in one process.
local ranks = {}
for rank = 0, 7 do
  ranks[rank + 1] = ("cuda:%d: sum 28, %d from the ring, "
    .. "all_reduce: a graph is recorded by one of 8 ranks of this process, but NCCL needs the "
    .. "calls of all of them at once; record all ranks: graph(function() m:run(...) end)\n")
    :format(rank, (rank + 7) % 8)
end
ranks[9] = "graph of 0 launches and 2 collectives on 8 devices\n"
tap.is(gpus.run("", script), table.concat(ranks), "one process, eight devices")

-- Three processes, which see only their own rank.
os.execute(("mkdir '%s/boxes'"):format(gpus.dir))
local commands = {}
for rank = 0, 2 do
  local who = ("FAKE_NCCL_DIR='%s/boxes' CUTTLE_COMM_TIMEOUT=30 RANK=%d LOCAL_RANK=%d "
    .. "WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500"):format(gpus.dir,
    rank, rank)
  commands[rank + 1] = ("timeout 300 %s > '%s/out%d' 2>&1 &"):format(gpus.command(who, script),
    gpus.dir, rank)
end
os.execute(table.concat(commands, " ") .. " wait")
for rank = 0, 2 do
  local lines = { "nil\n", "nil\n", "nil\n",
    "graph of 0 launches and 2 collectives on a device\n" }
  lines[rank + 1] = ("cuda:%d: sum 3, %d from the ring, graph of 0 launches and 2 "
    .. "collectives\n"):format(rank, (rank + 2) % 3)
  tap.is(gpus.read(("%s/out%d"):format(gpus.dir, rank)), table.concat(lines),
    "three processes, rank " .. rank)
end
gpus.done()
