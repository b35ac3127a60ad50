-- bfs.lua: how many edges each vertex of a graph is away from vertex 0, level by level. A thread
-- takes a vertex of the level and visits its neighbours. Those that nobody has reached form the
-- next level. Lanes that find one at the same time share one atomic operation.
-- Usage: cuttle bfs.lua [VERTICES]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 1 << 18 or 20000))

-- Appends v to a list, together with the lanes that are here.
local function append(list, count, v)
  local lanes, lane = active_mask(), threadIdx.x % 32
  local first, at = ffs(lanes) - 1, 0
  if lane == first then at = atomic_add(count, 0, popc(lanes)) end
  at = shfl_idx(at, first, {mask = lanes})
  list[at + popc(lanes & (u32(1) << lane) - 1)] = v
end

local visit = kernel("visit", function(edges, to, depth, n, level, next_level, n_next, d)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < n then
    local v = level[i]
    for e in range(edges[v], edges[v + 1]) do
      if atomic_cas(depth, to[e], -1, d) == -1 then append(next_level, n_next, to[e]) end
    end
  end
end)

-- A graph with 0 to 6 edges from each vertex: those of v are to[edges[v] .. edges[v + 1] - 1].
math.randomseed(1)
local edges, to = {0}, {}
for v = 1, N do
  for _ = 1, math.random(0, 6) do to[#to + 1] = math.random(0, N - 1) end
  edges[v + 1] = #to
end

local function expected()
  local depth, level, d = {[0] = 0}, {0}, 0
  while #level > 0 do
    local next_level = {}
    d = d + 1
    for _, v in ipairs(level) do
      for e = edges[v + 1] + 1, edges[v + 2] do
        if not depth[to[e]] then
          depth[to[e]] = d
          next_level[#next_level + 1] = to[e]
        end
      end
    end
    level = next_level
  end
  return depth
end

local where_to = on_gpu and "cuda" or "cpu"
local edges_of, to_of = from_table(i32, edges):to(where_to), from_table(i32, to):to(where_to)
local depth, n_next = zeros(i32, N), zeros(i32, 1)
local level, next_level = zeros(i32, N), zeros(i32, N)

local function search()
  fill(depth, -1)
  depth[0], level[0] = 0, 0
  local n, d = 1, 0
  while n > 0 do
    d, n_next[0] = d + 1, 0
    visit{grid = cdiv(n, 128), block = 128}(edges_of, to_of, depth, n, level, next_level, n_next, d)
    level, next_level, n = next_level, level, n_next[0]
  end
  return d - 1
end

local n_levels = search()
local want, got, n_reached, ok = expected(), depth:totable(), 0, true
for v = 0, N - 1 do
  ok = ok and (want[v] or -1) == got[v + 1]
  n_reached = n_reached + (want[v] and 1 or 0)
end
print(("search of %d vertices on %s: %s"):format(N, device().name, ok and "correct" or "wrong"))
print(("%d reached, the farthest by %d edges"):format(n_reached, n_levels))
os.exit(ok, true)
