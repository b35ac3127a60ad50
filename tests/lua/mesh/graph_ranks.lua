-- Graphs of all ranks on the CPU mesh: graph(function() m:run(...) end). Each launch of one gives the bits that the same
-- calls give without it: of kernels that wait for other ranks, collectives, copies, and operators of sharded tensors.
device "cpu:4"
local m = mesh"(a=2,b=2)"
local meeting, ranks = require "cuttle.meet", require "cuttle.ranks"

-- How often it was launched is in memory: a graph keeps its arguments.
local hand_on = kernel("hand_on", function(mine, theirs, flag, flag_of_theirs, count)
  local i, call = threadIdx.x, count[0] + 1
  sync_threads()
  theirs[i] = mine[i] * 0.75 + call
  sync_threads()
  if i == 0 then
    atomic_store(flag_of_theirs, 0, call, { scope = "sys" })
    while atomic_load(flag, 0, { scope = "sys" }) < call do end
    count[0] = call
  end
end)
local add = kernel("add", function(t, v) t[threadIdx.x] = t[threadIdx.x] + v end)

local function make()
  local t = { x = m:zeros(f32, { 4, 8 }, "(r@a@b,e)"), y = m:zeros(f32, { 4, 8 }, "(r@a@b,e)"),
    flag = m:zeros(i32, 4, "(r@a@b)"), count = m:zeros(i32, 4, "(r@a@b)"),
    all = m:zeros(f32, { 4, 32 }, "(r@a@b,e)") }
  for rank = 0, 3 do t.x:part(rank):fill(rank + 0.1) end
  return t
end
local function work(t)
  m:run(function(r)
    local to, x, y = (r.rank + 1) % 4, view(t.x:part(), 8), view(t.y:part(), 8)
    add{ grid = 1, block = 8 }(x, 1.0)
    hand_on{ grid = 1, block = 8 }(x, view(peer_tensor(t.y, to), 8), t.flag:part(),
      peer_tensor(t.flag, to), t.count:part())
    r:barrier()
    r:all_reduce(y, "b")
    r:send_recv(y, to, x, (r.rank + 3) % 4)
    r:all_gather(x, view(t.all:part(), 32))
  end)
  m:run(function(r) copy(view(t.y:part(), 8), view(t.x:part(), 8)) end)
end
local function text(t)
  local parts = {}
  for _, name in ipairs{ "x", "y", "count", "all" } do
    parts[#parts + 1] = tostring(t[name]:whole())
  end
  return table.concat(parts)
end
local plain, recorded = make(), make()
local g = graph(function() work(recorded) end)
print(g) -- expect: graph of 8 launches, 4 copies and 5 collectives on cpu
print(recorded.count:whole()[0]) -- expect: 0
for _ = 1, 7 do
  work(plain)
  g()
  if text(plain) ~= text(recorded) then print("differs", text(plain), text(recorded)) end
end
print(recorded.count:whole()[3]) -- expect: 7

-- Other arguments; launches outside of m:run; memory that the function makes and drops.
local scale = kernel("scale", function(t, c) t[threadIdx.x] = t[threadIdx.x] * c end)
local whole = ones(f32, 8)
local h = graph(function(c)
  scale{ grid = 1, block = 8 }(whole, c)
  m:run(function(r)
    local mine = zeros(f32, 8)
    add{ grid = 1, block = 8 }(mine, c)
    r:all_reduce(mine)
    if r.rank == 2 then copy(mine, whole) end
  end)
  scale{ grid = 1, block = 8 }(whole, 0.5)
end, 3.0)
h(); print(whole[7]) -- expect: 6.0
h(5.0); print(whole[0]) -- expect: 10.0

-- Products with a collective beside them, in one kernel or not, and reshard.
local function spread(shape, spec) return shard(rand(bf16, row_major(shape)), spec, m) end
local A, B = spread({ 128, 64 }, "(M@a@b,K)"), spread({ 64, 64 }, "(N@a@b,K)")
local D, E = spread({ 128, 256 }, "(M,K@a@b)"), spread({ 64, 256 }, "(N,K@a@b)")
for _, overlap in ipairs{ true, false } do
  local C, F = m:zeros(bf16, row_major{ 128, 64 }, "(M,N@a@b)"),
    m:zeros(bf16, row_major{ 128, 64 }, "(M@a@b,N)")
  local G = m:zeros(bf16, row_major{ 128, 64 }, "(M@a,N@b)")
  local function products()
    matmul(A, B, C, { overlap = overlap })
    matmul(D, E, F, { overlap = overlap })
    local moved = reshard(F, "(M@a,N@b)")
    m:run(function() copy(moved:part(), G:part()) end)
    moved:close()
  end
  products()
  local want = { C:whole(), F:whole(), G:whole() }
  for _, x in ipairs{ C, F, G } do
    for rank = 0, 3 do x:part(rank):fill(7) end
  end
  local p = graph(products)
  for _ = 1, 3 do p() end
  for i, x in ipairs{ C, F, G } do
    if reference.difference(x:whole(), want[i]) then print("product", overlap, i) end
  end
end

-- The kernel by which devices wait for each other in graphs.
local x, y = m:zeros(f32, 4, "(r@a@b)"), m:zeros(f32, 4, "(r@a@b)")
local write = kernel("write", function(mine) mine[0] = mine[0] + 1 end)
local read = kernel("read", function(mine, theirs) mine[0] = mine[0] + theirs[0] end)
local function each_rank(_, f) return ranks.run(m, function(r) f(r.rank) end) end
local meets = graph(function()
  m:run(function() write{ grid = 1, block = 1 }(x:part()) end)
  meeting.launch(x, each_rank)
  m:run(function(r) read{ grid = 1, block = 1 }(y:part(), peer_tensor(x, (r.rank + 1) % 4)) end)
  meeting.launch(x, each_rank)
end)
for _ = 1, 3 do meets() end
print(y:whole()[2], x:whole()[1]) -- expect: 6.0	3.0

-- A graph that was made outside of m:run and is launched in it is the rank's, which goes on as one.
local own = graph(function() scale{ grid = 1, block = 8 }(whole, 0.5) end)
m:run(function(r)
  if r.rank == 1 then own() end
  r:barrier()
  write{ grid = 1, block = 1 }(y:part())
end)
print(whole[7], y:whole()[3]) -- expect: 5.0	7.0

-- What fails says so; the state is as before.
local function fails(f, ...)
  print((select(2, pcall(f, ...)):gsub("[^ ]*/", ""):gsub("\n.*", "")))
end
fails(graph, function() m:run(function(r) r:peers(zeros(f32, 4)) end) end)
-- expect: graph_ranks.lua:129: peers: the ranks exchange tensors on the host, which a graph cannot record; call it before graph(...)
fails(graph, function() m:run(function() return x:part()[0] end) end)
-- expect: graph_ranks.lua:131: graph: an element uses a tensor's memory on the host while a graph is recorded, and nothing has run yet; do it before graph(...) or after the graph's launch
fails(graph, function() m:run(function(r) if r.rank > 0 then r:barrier() end end) end)
-- expect: graph_ranks.lua:133: m:run: deadlock, no rank can continue
fails(graph, function() m:run(function() graph(function() end) end) end)
-- expect: graph_ranks.lua:135: graph: a graph cannot be made or launched while another one is recorded; call the function with the launches instead
local stop = kernel("stop", function(t) assert(t[0] < 0, "too large") end)
local s = graph(function()
  m:run(function()
    write{ grid = 1, block = 1 }(x:part())
    stop{ grid = 1, block = 1 }(x:part())
  end)
end)
fails(s)
-- expect: graph_ranks.lua:137: assert: too large, by thread (0,0,0) of block (0,0,0) of rank 0
g()
work(plain)
print(text(plain) == text(recorded)) -- expect: true
-- needs sm_90
