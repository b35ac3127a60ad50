-- Peers of two processes, by CUDA's IPC, which also works where both use one device. NCCL does not; so the processes
-- exchange their handles, and meet, by files. Prints TAP.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end
local dir = shell.folder()

local prelude = [[
local dir = DIR
local m = mesh{ x = 2 }
local e = require "cuttle.engine".of(m, "test")
local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read "a"
  if file then file:close() end
  return text
end

-- In the place of NCCL: each rank writes a file, and waits for the other one's.
local n = 0
function e:exchange(call, text)
  synchronize()
  n = n + 1
  local name = function(rank) return ("%s/%d.%d"):format(dir, n, rank) end
  local file = assert(io.open(name(call.rank) .. ".new", "wb"))
  file:write(text)
  file:close()
  os.rename(name(call.rank) .. ".new", name(call.rank))
  local texts, begun = {}, os.time()
  for rank = 0, 1 do
    repeat
      texts[rank] = read(name(rank))
      assert(os.time() - begun < 60, "the other process does not come")
    until texts[rank]
  end
  return texts
end
function e:run(op, calls)
  assert(op == "barrier")
  self:exchange(calls[1], "here")
end
]]

local script = prelude .. [[
local sys = { scope = "sys" }
local x, y = m:zeros(f32, { 2 * 1000 }, "(M@x)"), m:zeros(f32, { 2 * 1000 }, "(M@x)")
local flags = m:zeros(i32, { 2 * 64 }, "(M@x)")
local function check(name, ok, why) print((ok and "ok " or "not ok ") .. name, ok and "" or why) end

-- Loads and stores, in order of barriers.
local give = kernel("give", function(theirs, mine, to)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(mine) then to[i] = 10 * theirs[i] + mine[i] end
end)
m:run(function(r)
  local other = 1 - r.rank
  fill(x:part(), r.rank + 1)
  r:barrier()
  give{ grid = 4, block = 256 }(peer_tensor(x, other), x:part(), peer_tensor(y, other))
  r:barrier()
  local want = 10 * (r.rank + 1) + other + 1
  local t = y:part():to "cpu"
  check("loads and stores", t[0] == want and t[999] == want, t[0] .. " instead of " .. want)
end)

-- Two kernels that run at once and tell each other by flags.
local turns = kernel("turns", function(mine, theirs, data, n, me)
  for k in range(n) do
    while atomic_load(mine, 0, sys) < k + me do end
    data[0] = data[0] + 1.0
    atomic_store(theirs, 0, k + 1, sys)
  end
end)
m:run(function(r)
  local other = 1 - r.rank
  fill(x:part(), 0)
  r:barrier()
  turns{ grid = 1, block = 1 }(flags:part(), peer_tensor(flags, other), r.rank == 0 and x:part() or peer_tensor(x, 0),
    20, r.rank)
  r:barrier()
  if r.rank == 0 then
    local got = x:part():to "cpu"[0]
    check("kernels of two processes take turns", got == 40, got .. " instead of 40")
  end
end)

-- Atomic operations; a list of parts; a part of a part by r:peers; TMA where there is one.
local count = kernel("count", function(parts, t) atomic_add(parts[1], 7, threadIdx.x, sys) t[0] = 3 end)
local z = m:zeros(i32, { 2 * 64 }, "(M@x)")
m:run(function(r)
  local other = 1 - r.rank
  local own = tile(z:part(), { 8 }, { 4 })
  local peers = r:peers(own)
  count{ grid = 4, block = 64 }({ peer_tensor(z, other), z:part() }, peers[other])
  r:barrier()
  local t = z:part():to "cpu"
  check("atomic operations", t[7] == 4 * 63 * 32, t[7])
  check("a tile, by r:peers", t[32] == 3 and t[31] == 0, t[32])
end)

-- Large ones, that are closed; what is closed serves the next one, and is opened again.
for round = 1, 3 do
  local big = m:zeros(f32, { 2 * 5000000 }, "(M@x)")
  m:run(function(r)
    fill(big:part(), round * 10 + r.rank)
    r:barrier()
    local sum = zeros(f32, 1000)
    give{ grid = 4, block = 256 }(tile(peer_tensor(big, 1 - r.rank), { 1000 }, { 4999 }), sum, sum)
    check("round " .. round, sum[999] == 10 * (round * 10 + 1 - r.rank), sum[999])
    r:barrier()
  end)
  big:close()
end

-- What cannot be.
local ok, why = pcall(m.run, m, function(r) r:peers(zeros(f32, 4)) end)
check("memory of a pool", not ok and why:find "cannot share its tensor with other processes: it is in memory private", why)
m:run(function(r) r:barrier() end)
x:close() y:close() flags:close() z:close()
m:run(function(r) r:barrier() end)
check("the end", true)
]]

local path = dir .. "/x.lua"
local file = assert(io.open(path, "w"))
file:write((script:gsub("DIR", ("%q"):format(dir))))
file:close()
local pipes = {}
for rank = 0, 1 do
  pipes[rank] = assert(io.popen(("RANK=%d WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "
    .. "CUTTLE_COMM_ID=127.0.0.1:29999 timeout -k 5 100 '%s' --device=cuda '%s' 2>&1"):format(rank,
    arg[-1], path)))
end
for rank = 0, 1 do
  local out = pipes[rank]:read "a"
  pipes[rank]:close()
  local n = 0
  for line in out:gmatch "[^\n]+" do
    n = n + 1
    tap.ok(line:find "^ok ", ("rank %d: %s"):format(rank, line), line)
  end
  tap.is(n, 9 - rank, ("rank %d: all of it"):format(rank))
end
os.execute(("rm -r '%s'"):format(dir))
tap.done()
