-- The way of persistent blocks through tiles: what kernels visit is what the host lists, every tile once.
-- needs sm_90
local function walk(p)
  return kernel("walk", function(out, m_tiles, n_tiles, ...)
    local table = ...
    local count = 0
    for m, n in raster{tiles = {m_tiles, n_tiles}, order = table or p.order, group = p.group,
                       start = p.start, step = p.step} do
      if threadIdx.x == 0 then out[{blockIdx.x, count}] = m * 100 + n end
      count = count + 1
    end
  end)
end

local function run(p, blocks, cluster)
  local out = full(i32, {blocks * cluster, 50}, -1)
  local k = walk(p){grid = blocks * cluster, block = 32, cluster = cluster}
  if p.order == "hilbert" then
    k(out, p.tiles[1], p.tiles[2], raster(p):table())
  else
    k(out, static(p.tiles[1]), p.tiles[2])
  end
  return out
end

local function compare(p, blocks, cluster)
  local out, r, n_wrong = run(p, blocks, cluster), raster(p), 0
  for b = 0, blocks * cluster - 1 do
    local want = r:list(b // cluster, blocks)
    for i = 0, 49 do
      local t = want[i + 1]
      if out[{b, i}] ~= (t and t[1] * 100 + t[2] or -1) then n_wrong = n_wrong + 1 end
    end
  end
  return n_wrong
end

local n_wrong = 0
for _, order in ipairs{"groups", "columns", "hilbert"} do
  n_wrong = n_wrong + compare({tiles = {5, 3}, order = order, group = 2}, 4, 1)
    + compare({tiles = {7, 6}, order = order, group = 4, start = 1, step = 2}, 5, 1)
    + compare({tiles = {8, 6}, order = order, group = 4}, 3, 2)
end
print(n_wrong)                           -- expect: 0

-- On the host: groups of 2 rows of tiles, m fastest.
local texts = {}
for m, n in raster{tiles = {3, 2}, group = 2} do texts[#texts + 1] = m .. n end
print(table.concat(texts, " "))          -- expect: 00 10 01 11 20 21

-- Hilbert's curve visits every tile of any rectangle once, and goes from each to a neighbour, by a diagonal
-- at most once, where both extents do not allow it otherwise.
local visited, steps = 0, 0
for m_tiles = 1, 17 do
  for n_tiles = 1, 13 do
    local seen, before, diagonals = {}, nil, 0
    for _, t in ipairs(raster{tiles = {m_tiles, n_tiles}, order = "hilbert"}:list()) do
      assert(t[1] >= 0 and t[1] < m_tiles and t[2] >= 0 and t[2] < n_tiles)
      if not seen[t[1] * 100 + t[2]] then visited = visited + 1 end
      seen[t[1] * 100 + t[2]] = true
      if before then
        local dm, dn = math.abs(t[1] - before[1]), math.abs(t[2] - before[2])
        diagonals = diagonals + (dm + dn == 2 and dm == 1 and 1 or 0)
        if dm + dn > 1 and not (dm == 1 and dn == 1) then steps = steps + 1 end
      end
      before = t
    end
    if diagonals > 1 then steps = steps + 1 end
  end
end
print(visited == (17 * 18 // 2) * (13 * 14 // 2), steps) -- expect: true	0

-- A table with a row for each block: how many tiles it has, then these.
local rows = from_table(u32, {{3, 1 << 16 | 2, 5, 7 << 16}, {0, 0, 0, 0}, {1, 9, 0, 0}})
local out = full(i32, {3, 50}, -1)
walk{order = "columns"}{grid = 3, block = 32}(out, 1, 1, rows)
print(out[{0, 0}], out[{0, 1}], out[{0, 2}], out[{0, 3}]) -- expect: 102	5	700	-1
print(out[{1, 0}], out[{2, 0}], out[{2, 1}])              -- expect: -1	9	-1

print(raster{tiles = {5, 3}, order = "hilbert"}) -- expect: raster of 5 x 3 tiles by hilbert
