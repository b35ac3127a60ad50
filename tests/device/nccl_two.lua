-- NCCL on two GPUs: the same script in one process and in two has the same bits; a killed rank. Prints TAP.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if #devices() < 3 then
  tap.skip_all "needs two CUDA devices"
end
local m = mesh{x = 2}
local ok, why = pcall(m.run, m, function(r)
  local a = zeros(f32, 1)
  r:all_reduce(a)
end)
if not ok and why:find("nccl: cannot load", 1, true) then
  tap.skip_all(why)
end
tap.ok(ok, "opens", why)

local dir = shell.folder()
local n_scripts = 0
local function write(text)
  n_scripts = n_scripts + 1
  local path = ("%s/s%d.lua"):format(dir, n_scripts)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end
local read = shell.read_file

local function one_process(path)
  return (shell.run("timeout -k 5 120 '%s' --device=cuda '%s'", arg[-1], path))
end

-- A process for each rank, by the variables of torchrun; the outputs, and the seconds that it took.
local port = 23000 + os.time() % 9000
local function two_processes(path, seconds)
  local line, begun = "", os.time()
  for rank = 1, 0, -1 do
    line = line .. ("RANK=%d WORLD_SIZE=2 LOCAL_RANK=%d MASTER_ADDR=127.0.0.1 MASTER_PORT=%d "
      .. "CUTTLE_COMM_TIMEOUT=%d timeout -k 5 120 '%s' --device=cuda '%s' > '%s/out%d' 2>&1 & "
        .. ""):format(rank, rank,
      port, seconds, arg[-1], path, dir, rank)
  end
  port = port + 2
  os.execute(line .. "wait")
  return { [0] = read(dir .. "/out0"), [1] = read(dir .. "/out1") }, os.time() - begun
end

-- {====== Every collective, by its bits ======

local ops = write [[
local m = mesh"(x=2,y=1)"
-- Numbers that no type holds exactly, so that the order of sums shows.
local function filled(r, dtype, n)
  local values, whole = {}, tostring(dtype):find "^[iu]"
  for i = 1, n do
    local v = (i * 7919 + r.rank * 104729) % 10007
    values[i] = whole and v % 50 or v / 10007 - 0.4
  end
  return from_table(dtype, values)
end
local function digest(t)
  local values, a, b = t:totable(), 1, 0
  for i = 1, #values do
    local text = ("%a"):format(values[i])
    for _, byte in ipairs {text:byte(1, -1)} do
      a = (a * 31 + byte) % 1000000007
      b = (b + a) % 1000000007
    end
  end
  return a .. "." .. b
end
local out = m:run(function(r)
  local lines = {}
  local function note(name, t) lines[#lines + 1] = ("%d %s %s"):format(r.rank, name, digest(t)) end
  for _, dtype in ipairs {f32, bf16, f16, f64, i32} do
    for _, count in ipairs {2, 1000, 1 << 16} do
      local a = filled(r, dtype, count)
      r:all_reduce(a, "x")
      note("all_reduce " .. tostring(dtype) .. count, a)
      local whole, half = filled(r, dtype, count), tensor(dtype, count // 2)
      r:reduce_scatter(whole, half, "x")
      note("reduce_scatter " .. tostring(dtype) .. count, half)
      local gathered = tensor(dtype, 2 * count)
      r:all_gather(a, gathered, "x")
      note("all_gather " .. tostring(dtype) .. count, gathered)
      local swapped = tensor(dtype, count)
      r:all_to_all(filled(r, dtype, count), swapped, "x")
      note("all_to_all " .. tostring(dtype) .. count, swapped)
    end
  end
  local b = filled(r, i16, 1001)
  r:broadcast(b, "x", 1)
  note("broadcast", b)
  local c, d = filled(r, f8e4m3, 777), tensor(f8e4m3, 777)
  r:send_recv(c, 1 - r.rank, d, 1 - r.rank)
  note("send_recv", d)
  if r.rank == 0 then r:send(c, 1) else r:recv(d, 0) end
  note("send", d)
  r:barrier()
  r:all_reduce(b, "y", "max")
  note("a group of one", b)
  return table.concat(lines, "\n")
end)
for rank = 0, 1 do
  if out[rank] then print(out[rank]) end
end
]]
local alone = one_process(ops)
local outs, _ = two_processes(ops, 60)
local function of_rank(text, rank)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    if line:find("^" .. rank .. " ") then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n"), #lines
end
for rank = 0, 1 do
  local want, n = of_rank(alone, rank)
  tap.ok(n == 64, ("%d results of rank %d in one process"):format(n, rank), alone)
  tap.is(of_rank(outs[rank], rank), want, ("rank %d has the same bits in a process of its "
    .. "own"):format(rank))
end

-- What they are, of numbers that are exact.
local exact = write [[
local m = mesh{x = 2}
local out = m:run(function(r)
  local k = r.rank * 10
  local a = from_table(f32, {k, k + 1, k + 2, k + 3})
  local g, h = tensor(f32, 8), tensor(f32, 2)
  local s = tensor(f32, 4)
  r:all_gather(a, g)
  r:reduce_scatter(a, h)
  r:all_to_all(a, s)
  r:all_reduce(a, nil, "max")
  return table.concat(g:totable(), " ") .. "; " .. table.concat(h:totable(), " ") .. "; "
    .. table.concat(s:totable(), " ") .. "; " .. table.concat(a:totable(), " ")
end)
print(out[0], out[1])
]]
tap.is(one_process(exact), "0.0 1.0 2.0 3.0 10.0 11.0 12.0 13.0; 10.0 12.0; 0.0 1.0 10.0 11.0; "
  .. "10.0 11.0 12.0 13.0\t0.0 1.0 2.0 3.0 10.0 11.0 12.0 13.0; 14.0 16.0; 2.0 3.0 12.0 13.0; "
  .. "10.0 11.0 12.0 13.0\n", "each collective")

-- Sharded tensors.
local sharded = write [[
local m = mesh{x = 2}
local t = tensor(f32, "(M=100,K=37)")
for i = 0, 3699 do t[i] = i end
local x = shard(t, "(M@x,K)", m)
local y = reshard(x, "(M,K@x)")
local z, bad = y:whole():to "cpu", 0
for i = 0, 3699 do bad = bad + (z[i] == i and 0 or 1) end
print(bad)
]]
tap.is(one_process(sharded), "0\n", "a tensor spread anew, in one process")
outs = two_processes(sharded, 60)
tap.is(outs[0] .. outs[1], "0\n0\n", "and in two")

-- {====== A rank that is gone ======

local killed = write [[
local m = mesh{x = 2}
m:run(function(r)
  local a = zeros(f32, 1 << 20)
  for _ = 1, 20 do r:all_reduce(a) end
  synchronize()
  if r.rank == 1 then os.execute "kill -9 $PPID" end
  r:all_reduce(a)
  synchronize()
  print "never"
end)
]]
local seconds
outs, seconds = two_processes(killed, 5)
tap.ok(outs[0]:find "nccl: rank 0.*all_reduce of 1048576 f32 over all axes.*aborted", "a rank "
  .. "is killed: the other's message",
  outs[0])
tap.ok(not outs[0]:find "never" and seconds < 60, ("it ends: after %d s"):format(seconds))
local late = write [[
local m = mesh{x = 2}
m:run(function(r)
  local a = zeros(f32, 1 << 20)
  r:all_reduce(a)
  synchronize()
  if r.rank == 1 then os.execute "sleep 3" end
  r:all_reduce(a)
  synchronize()
  print "late"
end)
]]
outs = two_processes(late, 30)
tap.is(outs[0] .. outs[1], "late\nlate\n", "a rank that comes late, but within the limit")
outs, seconds = two_processes(write [[
local m = mesh{x = 2}
m:run(function(r)
  local a = zeros(f32, 4)
  if r.rank == 0 then r:all_reduce(a) end
  synchronize()
end)
]], 5)
tap.ok(outs[0]:find "the other ranks did not join it within 5", "a collective that one rank "
  .. "makes alone", outs[0])
tap.ok(seconds < 60, ("it ends: after %d s"):format(seconds))
os.execute(("rm -r '%s'"):format(dir))
tap.done()
