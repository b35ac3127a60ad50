-- Collectives in graphs on the CPU mesh: each launch of the graph does them again, between its launches.
device "cpu:4"
local m = mesh"(a=2,b=2)"
local add = kernel("add", function(t, v) t[threadIdx.x] = t[threadIdx.x] + v end)

-- All of them, beside the same calls without a graph.
local function work(r, t, u, all, other)
  local to, from = (r.rank + 1) % 4, (r.rank + 3) % 4
  add{ grid = 1, block = 4 }(t, 1.0)
  r:all_reduce(t, "a", "max")
  add{ grid = 1, block = 4 }(t, r.rank + 0.5)
  r:send_recv(t, to, u, from)
  r:reduce_scatter(u, tile(t, { 2 }, { 0 }), "b")
  r:barrier()
  r:all_gather(t, all)
  r:all_to_all(all, other, "a")
  r:broadcast(t, "b", 1)
  copy(t, u)
end
local function run(with_graph)
  return m:run(function(r)
    local t, u, all, of = full(f32, 4, 3 * r.rank), zeros(f32, 4), zeros(f32, 16), zeros(f32, 16)
    local function once() work(r, t, u, all, of) end
    local step = with_graph and graph(once) or once
    if r.rank == 1 and with_graph then print(step) end
    for _ = 1, 5 do step() end
    return table.concat(t:totable(), " ") .. "; " .. table.concat(u:totable(), " ") .. "; "
      .. table.concat(all:totable(), " ") .. table.concat(of:totable(), " ")
  end)
end
local plain, recorded = run(false), run(true) -- expect: graph of 2 launches, 1 copy and 7 collectives on cpu
for rank = 0, 3 do
  if plain[rank] ~= recorded[rank] then print(rank, plain[rank], recorded[rank]) end
end

-- In another m:run, after the tensor was closed, and with other arguments.
local graphs = m:run(function(r)
  local t, u = full(f32, 4, r.rank), zeros(f32, 4)
  local function f(v) add{ grid = 1, block = 4 }(t, v); r:all_reduce(t); copy(t, u) end
  local g = graph(f, 1.0)
  t:close()
  return { g = g, u = u }
end)
m:run(function(r) graphs[r.rank].g() end)
print(graphs[0].u[0], graphs[3].u[3]) -- expect: 10.0	10.0
m:run(function(r) graphs[r.rank].g() end)
print(graphs[2].u[1]) -- expect: 44.0
print(select(2, pcall(m.run, m, function(r) graphs[r.rank].g(2.0) end)):match("^.-: (.-)\n"))
-- expect: add: argument 1 (t) is closed; its memory was given back

-- What fails says so where the graph is launched or recorded.
local function fails(f, ...)
  print((select(2, pcall(f, ...)):gsub("[^ ]*/", ""):gsub("\n.*", "")))
end
fails(graphs[0].g)
-- expect: graph.lua:53: graph: it has all_reduce, graph.lua:39, which needs the other ranks; launch it in m:run(function(r) ... end)
fails(m.run, m, function(r) graphs[(r.rank + 1) % 4].g() end)
-- expect: graph.lua:57: graph: rank 1 of mesh (a=2,b=2):(1,2) recorded all_reduce, graph.lua:39, but rank 0 of mesh (a=2,b=2):(1,2) launches it; each rank records a graph of its own
fails(m.run, m, function(r) coroutine.wrap(function() graphs[r.rank].g() end)() end)
-- expect: graph.lua:59: graph: it has all_reduce, graph.lua:39, where rank 0 cannot wait; launch it in the function of m:run itself, outside of coroutines and of functions that C calls
fails(m.run, m, function(r) graph(function() r:peers(zeros(f32, 4)) end) end)
-- expect: graph.lua:61: peers: the ranks exchange tensors on the host, which a graph cannot record; call it before graph(...)
fails(m.run, m, function() graph(function() m:run(function(r) r:barrier() end) end) end)
-- expect: graph.lua:63: mesh:run: rank 0 calls m:run inside of m:run; call it once, outside
fails(m.run, m, function(r)
  local t = zeros(f32, 4)
  local g = graph(function() r:all_reduce(t, r.rank == 3 and "b" or "a") end)
  g()
end)
-- expect: graph.lua:67: m:run: deadlock, no rank can continue
fails(m.run, m, function(r)
  local g = graph(function() r:barrier() end)
  if r.rank ~= 2 then g() end
end)
-- expect: graph.lua:72: m:run: deadlock, no rank can continue
