-- NCCL itself on one GPU: a mesh of one rank, whose collectives are copies; ranks that never come; two processes that
-- meet. Prints TAP.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end
local engines = require "cuttle.engine_nccl"
device "cuda:0"
local m = mesh{x = 1}
local e = engines.open(m, "test", {alone = true})
local first = zeros(u8, 1)
local ok, why = pcall(e.run, e, "all_reduce", {{rank = 0, group = {0}, src = first, dst = first}})
if not ok and why:find("nccl: cannot load", 1, true) then
  tap.skip_all(why)
end
tap.ok(ok, "opens", why)

-- {====== Collectives of one rank ======

local n <const> = 1000
local add_one = kernel("add_one", function(x)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then x[i] = x[i] + 1.0 end
end)
local function counted(dtype)
  local host = tensor(dtype, n)
  for i = 0, n - 1 do
    if dtype == bool then host[i] = i % 3 == 0 else host[i] = i % 7 end
  end
  return host:to "cuda:0"
end
local function same(a, b)
  local x, y = a:to "cpu":totable(), b:to "cpu":totable()
  for i = 1, #x do
    if x[i] ~= y[i] then return false end
  end
  return #x == #y
end
local function run(op, src, dst, more)
  local call = {rank = 0, group = {0}, src = src, dst = dst}
  for k, v in pairs(more or {}) do call[k] = v end
  return pcall(e.run, e, op, {call})
end
for _, dtype in ipairs {f64, f32, f16, bf16, i64, i32, i8, u64, u32, u8} do
  for _, op in ipairs {"all_reduce", "reduce_scatter"} do
    for _, reduce in ipairs {"sum", "max", "min"} do
      local src, dst = counted(dtype), zeros(dtype, n)
      local fine, problem = run(op, src, dst, {reduce = reduce})
      tap.ok(fine and same(src, dst), ("%s %s of %s"):format(op, reduce, dtype), problem)
    end
  end
end
for _, dtype in ipairs {f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32,
  u16, u8, bool} do
  for _, op in ipairs {"all_gather", "all_to_all"} do
    local src, dst = counted(dtype), zeros(dtype, n)
    local fine, problem = run(op, src, dst)
    tap.ok(fine and same(src, dst), ("%s of %s"):format(op, dtype), problem)
  end
end
local x = counted(f32)
local before = x:to "cpu"
tap.ok(run("broadcast", nil, x, {root = 0}) and same(before, x), "broadcast")
tap.ok(run("barrier"), "barrier")

-- In a graph, between launches; it is watched when it is launched.
local z = zeros(f32, n)
local g = graph(function()
  add_one{grid = 8, block = 128}(z)
  assert(run("all_reduce", z, z))
  assert(run("all_gather", z, x))
  add_one{grid = 8, block = 128}(z)
end)
tap.is(tostring(g), "graph of 2 launches and 2 collectives on cuda:0", "in a graph")
tap.ok(z:to "cpu"[0] == 0, "whose recording runs nothing")
for _ = 1, 10 do g() end
tap.ok(z:to "cpu"[n - 1] == 20 and x:to "cpu"[0] == 19, "ten launches of it")
g:close()
before = x:to "cpu"

-- In the order of the stream, between kernels.
local y = zeros(f32, n)
for _ = 1, 50 do
  add_one{grid = 8, block = 128}(y)
  e:run("all_reduce", {{rank = 0, group = {0}, src = y, dst = y}})
end
tap.ok(y:to "cpu"[0] == 50 and y:to "cpu"[n - 1] == 50, "in turns with kernels")
e:wait()
e:close()
tap.ok(run("all_reduce", x, x), "closed communicators are made anew")
local mine = engines.open(m, "test", {alone = true, blocks = true})
mine:bare("all_reduce", {{rank = 0, group = {0}, src = x, dst = x}}, 10)
synchronize()
mine:close()
tap.ok(same(before, x), "bare calls, in communicators that block")

-- {====== Processes ======

local dir = shell.folder()
local script = dir .. "/x.lua"
local file = assert(io.open(script, "w"))
file:write [[
local m = mesh{x = 2}
m:run(function(r)
  local a = from_table(f32, {r.rank + 1, 2})
  r:all_reduce(a)
  print(a[0])
end)
]]
file:close()
-- Starts one rank of two, to be stopped by `timeout` with its options.
local function start(limit, rank, seconds, port)
  return assert(io.popen(("RANK=%d WORLD_SIZE=2 LOCAL_RANK=0 CUTTLE_COMM_TIMEOUT=%d "
    .. "CUTTLE_COMM_ID=127.0.0.1:%d timeout -k 10 %s '%s' --device=cuda '%s' 2>&1"):format(rank,
    seconds, port, limit, arg[-1], script)))
end
local port = 23000 + os.time() % 9000
local function check(name, pattern, ...)
  local begun = os.time()
  local pipe = start(...)
  local out = pipe:read "a"
  pipe:close()
  tap.ok(out:find(pattern), name, out)
  tap.ok(os.time() - begun < 30, "in time")
end
check("rank 1 never comes: a message", "the other ranks did not join it within 4%.%d s", 60, 0, 4,
  port)
check("nor does rank 0: a message", "nccl: rank 1: the first meeting of 2 ranks", 60, 1, 4, port)
check("Ctrl-C ends the wait", "interrupted", "-s INT 12", 0, 100, port)

-- NCCL has no two ranks on one device. That they find out is the proof that they met.
if #devices() == 2 then
  local begun = os.time()
  local pipes = {start(60, 0, 20, port + 1), start(60, 1, 20, port + 1)}
  for i, each in ipairs(pipes) do
    local out = each:read "a"
    each:close()
    tap.ok(out:find "nccl: rank %d: the first meeting of 2 ranks at 127.0.0.1:%d+: .*%(%d%)",
      ("two processes on one device: a message in rank %d"):format(i - 1), out)
  end
  tap.ok(os.time() - begun < 50, "in time")
end
os.execute(("rm -r '%s'"):format(dir))
tap.done()
