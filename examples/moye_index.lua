-- moye_index.lua: MoYe.jl's front page, on the host: a 6x8 array is cut into tiles of 3x4, and 3x2
-- threads share one tile. What a kernel does with blockIdx and threadIdx happens here with plain
-- numbers, so every step can be printed. MoYe counts from 1, we count from 0.
local a = arange(i32, { 6, 8 })                 -- column-major, as in Julia
for i = 0, size(a) - 1 do a[i] = i + 1 end
print("a: " .. tostring(a))

-- The tile at (0, 1), MoYe's (1, 2).
local subtile = tile(a, { 3, 4 }, { 0, 1 })
print("\nits tile of 3x4 at (0,1): " .. tostring(subtile))

-- 3x2 threads, one of them: thread 0, MoYe's (1, 1).
local threads = layout { 3, 2 }
print("\nwhat each of the threads " .. tostring(threads) .. " works on")
local owner = {}
for t = 0, size(threads) - 1 do
  local items = parallelize(subtile, threads, t)
  local values = {}
  for i = 0, size(items) - 1 do
    values[#values + 1] = items[i]
    assert(not owner[items[i]], "an element has two owners")
    owner[items[i]] = t
  end
  print(("thread %d %-6s %s"):format(t, idx2crd(t, shape(threads)), table.concat(values, " ")))
end

-- All tiles: zipped_divide puts the elements of a tile in mode 0 and the tiles in mode 1.
local tiles = zipped_divide(a, { 3, 4 })
print("\nzipped_divide, " .. tostring(tiles.layout))
for i = 0, size(tiles, 1) - 1 do
  print(("tile %d begins with %d"):format(i, tiles[{ 0, i }]))
end

-- The same by hand.
for m = 0, 2 do
  for n = 0, 3 do
    local value = subtile[{ m, n }]
    assert(value == 1 + m + 6 * (4 + n) and value == tiles[{ { m, n }, { 0, 1 } }])
    assert(owner[value] == m + 3 * (n % 2), "thread by hand")
  end
end
print("\ncorrect: 12 elements of the tile, 2 for each of 6 threads")
