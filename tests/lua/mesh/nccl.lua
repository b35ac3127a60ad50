-- The NCCL engine on a driver and an NCCL in the host's memory (tests/c/fake_nccl.h): groups of axes,
-- processes, ranks that are killed, errors.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
local run, read, script, like, dir = gpus.run, gpus.read, gpus.script, gpus.like, gpus.dir
local old_nccl = gpus.build("fake_nccl", "-DWITHOUT_SPLIT")

-- {====== One process with several devices ======

local prelude = [[
local m = mesh(MESH)
local e = require "cuttle.engine_nccl".open(m, "test")
local function row(rank, v) return from_table(f32, v):to(e:device(rank)) end
local function none(rank, n) return zeros(f32, n):to(e:device(rank)) end
local function text(t)
  local words = {}
  for i, v in ipairs(t:totable()) do words[i] = ("%g"):format(v) end
  return table.concat(words, " ")
end
-- The rows of all ranks here; ranks of other processes do the same.
local function run(op, axes, src, dst, more)
  local calls = {}
  for i, rank in ipairs(e.ranks) do
    calls[i] = {rank = rank, group = m:group(rank, axes), src = src and src(rank), dst = dst(rank)}
    for k, v in pairs(more or {}) do calls[i][k] = v end
  end
  e:run(op, calls)
  local out = {}
  for i in ipairs(e.ranks) do out[i] = text(calls[i].dst) end
  print(op .. " over " .. table.concat(axes, ","), table.concat(out, "; "))
end
local function own(n)
  return function(rank)
    local v = {}
    for i = 1, n do v[i] = rank * 10 + i end
    return row(rank, v)
  end
end
local function empty(n) return function(rank) return none(rank, n) end end
]]

local ops = prelude .. [[
run("all_reduce", m.axes, own(2), empty(2))
run("all_reduce", {"model"}, own(2), empty(2))
run("all_reduce", {"data"}, own(1), empty(1), {reduce = "max"})
run("all_reduce", {"data"}, own(1), empty(1), {reduce = "min"})
run("reduce_scatter", {"model"}, own(2), empty(1))
run("all_gather", {"data"}, own(1), empty(2))
run("all_to_all", {"data"}, own(2), empty(2))
run("all_gather", {"model", "data"}, own(1), empty(4))
for _, rank in ipairs(e.ranks) do assert(m:rank(m:coord(rank)) == rank) end
local calls, kept = {}, {}
for i, rank in ipairs(e.ranks) do
  local to, from = (rank + 1) % 4, (rank - 1) % 4
  kept[i] = none(rank, 3)
  calls[i] = {rank = rank, sends = {{rank = to, row = row(rank, {rank, rank + 0.5}), at = 1, n = 1},
    {rank = to, row = row(rank, {rank}), at = 0, n = 1}},
    recvs = {{rank = from, row = kept[i], at = 2, n = 1}, {rank = from, row = kept[i], at = 0,
      n = 1}}}
end
e:run("send_recv", calls)
for i in ipairs(e.ranks) do print("ring", text(kept[i])) end
calls = {}
for i, rank in ipairs(e.ranks) do
  calls[i] = {rank = rank, group = m:group(rank, {"data"}), dst = row(rank, {rank}),
    root = m:group(rank, {"data"})[2]}
end
e:run("broadcast", calls)
for i in ipairs(e.ranks) do print("root", text(calls[i].dst)) end
calls = {}
for i, rank in ipairs(e.ranks) do calls[i] = {rank = rank, group = m:group(rank, m.axes)} end
e:run("barrier", calls)
e:wait()
]]
local four = ops:gsub("MESH", '"(data=2,model=2)"')
local wanted = [[
all_reduce over data,model	64 68; 64 68; 64 68; 64 68
all_reduce over model	22 24; 42 44; 22 24; 42 44
all_reduce over data	11; 11; 31; 31
all_reduce over data	1; 1; 21; 21
reduce_scatter over model	22; 42; 24; 44
all_gather over data	1 11; 1 11; 21 31; 21 31
all_to_all over data	1 11; 2 12; 21 31; 22 32
all_gather over model,data	1 21 11 31; 1 21 11 31; 1 21 11 31; 1 21 11 31
ring	3 0 3.5
ring	0 0 0.5
ring	1 0 1.5
ring	2 0 2.5
root	1
root	1
root	3
root	3
]]
local log = dir .. "/log"
local path = script(four)
tap.is(run("FAKE_NCCL_LOG=" .. log, path), wanted, "one process, four devices")
local lines = read(log)
local function count(text, pattern) return select(2, text:gsub(pattern, "")) end
tap.is(count(lines, "ncclGetUniqueId here"), 1, "ranks meet once")
tap.is(count(lines, "ncclCommInitRankConfig rank=%d/4 device=%d blocking=1"), 4, "all of them, and "
  .. "calls block the host: no rank of one process can be missing")
tap.is(count(lines, "ncclCommSplit"), 12, "each kind of group is split off once: model, data, "
  .. "another order")
tap.ok(lines:find("ncclCommSplit rank=3 color=1 key=1 device=3", 1, true),
  "colors are the least ranks of groups, keys the places in them")
tap.is(count(lines, "ncclCommDestroy"), 16, "all are closed")
tap.ok(not lines:find("bad use", 1, true) and not lines:find("Abort", 1, true), "and none is "
  .. "misused or aborted")
tap.is(run("CUTTLE_COMM_BLOCKING=0 FAKE_NCCL_SLOW=5 FAKE_NCCL_LOG=" .. log, path), wanted,
  "an NCCL that takes its time, where calls do not block")
tap.is(count(read(log), "blocking=0"), 16, "as the environment says")
tap.is(run(("CUTTLE_NCCL='%s' FAKE_NCCL_LOG=%s"):format(old_nccl, log), path), wanted,
  "an NCCL that cannot split")
tap.is(count(read(log), "ncclGetUniqueId"), 6, "meets for each group")


-- Some ranks only, and groups of one.
local some = script((prelude:gsub("MESH", "{data = 2, model = 4}")) .. [[
local a, b = row(2, {5}), row(3, {6})
e:run("all_reduce", {{rank = 2, group = m:group(2, {"data"}), src = a, dst = a},
  {rank = 3, group = m:group(3, {"data"}), src = b, dst = b}})
print(text(a), text(b))
e:close()
local one = mesh{x = 1}
local alone = require "cuttle.engine_nccl".open(one, "test")
local c, d = row(0, {1, 2, 3}), none(0, 3)
alone:run("all_gather", {{rank = 0, group = {0}, src = c, dst = d}})
print(text(d))
alone = require "cuttle.engine_nccl".open(one, "test", {alone = true})
alone:run("all_reduce", {{rank = 0, group = {0}, src = c, dst = c}})
alone:bare("all_reduce", {{rank = 0, group = {0}, src = c, dst = c}}, 3)
print(text(c))
]])
tap.is(run("FAKE_NCCL_LOG=" .. log, some), "11\t11\n1 2 3\n1 2 3\n", "some ranks, and one rank")
lines = read(log)
tap.is(count(lines, "ncclCommInitRankConfig rank=%d/2 device=[23]"), 2, "a group meets by itself")
tap.is(count(lines, "ncclAllGather"), 0, "a rank alone needs no NCCL")
tap.is(count(lines, "ncclAllReduce rank=0/1"), 4, "except in tests and measurements")

-- {====== A process for each device ======

local function processes(n, environment, file)
  local line = ""
  for rank = n - 1, 0, -1 do
    line = line .. ("%s > '%s/out%d' 2>&1 & "):format(gpus.command(environment:gsub("%%d",
      rank), file), dir, rank)
  end
  os.execute(("rm -rf '%s/boxes'; mkdir '%s/boxes'; "):format(dir, dir) .. line .. "wait")
  local outs = {}
  for rank = 0, n - 1 do outs[rank] = read(("%s/out%d"):format(dir, rank)):gsub(dir .. "/s%d+",
    "x") end
  return outs
end
local torch <const> = "FAKE_NCCL_DIR=" .. dir .. "/boxes RANK=%d LOCAL_RANK=%d WORLD_SIZE=4 "
  .. "LOCAL_WORLD_SIZE=4 "
  .. "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 CUTTLE_COMM_TIMEOUT=30 "

-- The part of each line that is rank's.
local function part(line, rank)
  local head, rest = line:match("^(.-\t)(.*)$")
  local k = 0
  for word in rest:gmatch("[^;]+") do
    if k == rank then return head .. word:match("^%s*(.*)$") end
    k = k + 1
  end
end
local function of_rank(rank)
  local out, n = {}, 0
  for line in wanted:gmatch("[^\n]+") do
    if line:find("^ring") or line:find("^root") then
      if n % 4 == rank then out[#out + 1] = line end
      n = n + 1
    else
      out[#out + 1] = part(line, rank)
    end
  end
  return table.concat(out, "\n") .. "\n"
end
local outs = processes(4, torch .. "FAKE_NCCL_LOG=" .. log, path)
for rank = 0, 3 do
  tap.is(outs[rank], of_rank(rank), ("process %d of four: the same as in one process"):format(rank))
end
lines = read(log)
tap.is(count(lines, "blocking=1"), 0, "calls do not block where a limit is set: a rank elsewhere "
  .. "may be missing")
processes(4, torch .. "CUTTLE_COMM_BLOCKING=1 FAKE_NCCL_LOG=" .. log, path)
tap.ok(read(log):find "blocking=1", "unless it is said that they do")
local unlimited <const> = torch:gsub("CUTTLE_COMM_TIMEOUT=%S+ ", "")
processes(4, unlimited .. "CUTTLE_COMM_BLOCKING=0 FAKE_NCCL_LOG=" .. log, path)
tap.is(count(read(log), "blocking=1"), 0, "or that they do not")
outs = processes(4, unlimited .. "FAKE_NCCL_LOG=" .. log, path)
tap.is(outs[2], of_rank(2), "without a limit calls block the host")
lines = read(log)
tap.ok(count(lines, "ncclCommInitRankConfig rank=%d/4 device=%d blocking=0") == 4
  and count(lines, "ncclCommSplit .- blocking=1") == 16 and not lines:find("bad use", 1, true),
  "ranks meet without, and collectives are in communicators that were split off", lines)
tap.is(count(lines, "ncclGetUniqueId 127.0.0.1:29501 nvls=0"), 4, "all are told where to meet")
tap.ok(lines:find("ncclCommInitRankConfig rank=3/4 device=3", 1, true), "each has its device")

-- A rank that ends before the collective, and one that is killed in it.
local lonely = script(((prelude .. [[
local x = row(e.ranks[1], {1, 2})
run("all_reduce", {"data"}, function() return x end, function() return x end)
if e.ranks[1] == 1 then
  os.execute "date +%s > KILLED; kill -9 $PPID"
end
local calls = {{rank = e.ranks[1], group = {0, 1}, src = x, dst = x}}
e:run("all_reduce", calls)
print(text(x))
]]):gsub("MESH", "{data = 2}"):gsub("KILLED", dir .. "/killed")))
local pair <const> = torch:gsub("SIZE=4", "SIZE=2"):gsub("TIMEOUT=30", "TIMEOUT=1")
outs = processes(2, pair, lonely)
local seconds = os.time() - (tonumber(read(dir .. "/killed")) or 0)
like(outs[0], "^all_reduce over data\t2 4\nx.lua:%d+: nccl: rank 0 waited 1.0 s in all_reduce "
  .. "of 2 f32 over all "
  .. "axes, x.lua:%d+; another rank may have ended, or be at another line; the communicators of "
    .. "this process were "
  .. "aborted\n$", "the others of a killed rank end with a message")
tap.ok(seconds <= 5, ("within the limit: %d s after it was killed"):format(seconds))
local nobody = script((prelude:gsub("MESH", "{data = 2}")) .. [[
run("all_reduce", {"data"}, own(1), empty(1))
]])
local alone <const> = pair:gsub("%%d", "0"):gsub("boxes", "none")
os.execute(("mkdir -p '%s/none'"):format(dir))
like(run(alone, nobody), "nccl: rank 0: the first meeting of 2 ranks at 127.0.0.1:29501: the other "
  .. "ranks did not join it within 1.0 s; one of them may have ended, or be at another line", "a "
    .. "rank that never comes")

-- {====== Errors ======

local two = script((prelude:gsub("MESH", "{data = 2}")) .. [[
run("all_reduce", {"data"}, own(1), empty(1))
local ok, why = pcall(run, "all_reduce", {"data"}, own(1), empty(1))
print(ok, why)
print(pcall(run, "all_reduce", {"data"}, own(1), empty(1)))
e = require "cuttle.engine_nccl".open(mesh{data = 2}, "test")
run("all_reduce", {"data"}, own(1), empty(1))
]])
like(run("FAKE_NCCL_ASYNC='6 2'", two), "^all_reduce over data\t12; 12\nfalse\tx.lua:%d+: nccl: "
  .. "rank %d: "
  .. "all_reduce of 1 f32 over all axes, x.lua:%d+: remote process exited or there was a "
    .. "network error %(6%); the "
  .. "communicators of this process were aborted\nfalse\tx.lua:%d+: all_reduce: the "
    .. "communicators of this process were "
  .. "aborted since nccl: rank %d: .*\nall_reduce over data\t12; 12\n$",
  "an error from elsewhere; another mesh begins anew")
local function fails(name, environment, file, pattern)
  local out, code = run(environment, file)
  like(out, pattern, name)
  tap.is(code, 1, name .. ": the program's result")
end
fails("no NCCL", "CUTTLE_NCCL=/nowhere/libnccl.so", two, "nccl: cannot load "
  .. "'/nowhere/libnccl.so', which CUTTLE_NCCL "
  .. "names: .*; give the path of the library")
fails("the end of the script waits", "FAKE_NCCL_MUTE=1 CUTTLE_COMM_TIMEOUT=0.3",
  script((prelude:gsub("MESH", "{data = 2}"))
  .. [[
local a, b = row(0, {5}), row(1, {6})
e:run("all_reduce", {{rank = 0, group = {0, 1}, src = a, dst = a}, {rank = 1, group = {0, 1},
  src = b, dst = b}})
]]), "^cuttle: nccl: rank %d waited 0.3 s in all_reduce of 1 f32 over all axes, x.lua:%d+; ")
fails("too few devices", "", script [[require "cuttle.engine_nccl".open(mesh{a = 9}, "shard")]],
  "x.lua:1: shard: mesh .* has 9 ranks, but CUDA has 8 devices; a rank is one device")
fails("a sum that NCCL lacks", "", script((prelude:gsub("MESH", "{data = 2}")) .. [[
local a, b = zeros(i16, 1):to "cuda:0", zeros(i16, 1):to "cuda:1"
e:run("all_reduce", {{rank = 0, group = {0, 1}, src = a, dst = a}, {rank = 1, group = {0, 1},
  src = b, dst = b}})
]]), "x.lua:%d+: all_reduce: NCCL has no sum of i16; cast to i32 first")
local started = torch:gsub("%%d", "0")
fails("another number of processes", started, two, "x.lua:2: test: mesh .* has 2 ranks, but "
  .. "torchrun started 4 processes; "
  .. "each process is one rank of a mesh")
fails("a limit that is no number", "CUTTLE_COMM_TIMEOUT=soon", two,
  "CUTTLE_COMM_TIMEOUT is 'soon'; a number from 0 to 1000000000 was expected")
fails("a limit that is none", "CUTTLE_COMM_TIMEOUT=0", two,
  "launcher: CUTTLE_COMM_TIMEOUT is '0'; a number of seconds above 0 was expected")
fails("neither blocking nor not", "CUTTLE_COMM_BLOCKING=no", two,
  "CUTTLE_COMM_BLOCKING is 'no'; 0 or 1 was expected")

-- A rank that fails in another way does not wait for the others: in a collective that has no end.
local begun = os.time()
fails("a script that fails", "FAKE_NCCL_MUTE=1 CUTTLE_COMM_TIMEOUT=100",
  script((prelude:gsub("MESH", "{data = 2}")) .. [[
local a, b = row(0, {5}), row(1, {6})
e:run("all_reduce", {{rank = 0, group = {0, 1}, src = a, dst = a},
  {rank = 1, group = {0, 1}, src = b, dst = b}})
error "my own"
]]), "my own")
tap.ok(os.time() - begun < 90, ("ends before its limit: after %d s"):format(os.time() - begun))

-- Ctrl-C ends a wait. It is sent once the collective is on its way, however long the program took to get there: what
-- watches the log from beside it knows the number of the shell that becomes the program.
local watched <const> = [[
(n=0; until grep -qs ncclAllReduce '%s' || [ $n = 3000 ]; do n=$((n + 1)); sleep 0.1; done
sleep 0.5; date +%%s > '%s'; kill -INT $$) &
exec %s
]]
os.remove(log)
local out = gpus.capture("timeout -k 1 600 sh " .. script(watched:format(log, dir .. "/sent",
  gpus.command("FAKE_NCCL_MUTE=1 CUTTLE_COMM_TIMEOUT=300 FAKE_NCCL_LOG=" .. log, two))))
like(out, "the wait was interrupted", "Ctrl-C ends a wait")
local sent = tonumber(read(dir .. "/sent")) or 0
tap.ok(os.time() - sent < 250, ("before its limit: after %d s"):format(os.time() - sent))

gpus.done()
