-- Tiles of groups whose last columns take less time (gemm_groups.lua): each is somebody's once,
-- whole ones come before narrow ones, and blocks have equal work.
local grouping = require "cuttle.gemm_groups"
local ROWS <const>, LEAST <const>, TIMES <const>, BLOCKS <const> = 128, 64, 12, 9
local ends = from_table(i32, {300, 300, 556, 562, 818, 946, 1010, 1010, 1330, 1600})
local n_columns = 4

-- seen (columns,times,groups) counts, work is of each block: a whole tile is 2, a narrow one 1.
-- late counts whole tiles after a narrow one.
local walk = kernel("walk", function(ends, seen, work, late)
  local way = {ends = ends, extent = 1500, rows = ROWS, times = TIMES, least = LEAST}
  local was_narrow, own = false, 0
  grouping.each_tile_by_size(way, blockIdx.x, gridDim.x, function(group, row, column)
    local left = group.rows - column * ROWS
    if left > LEAST and was_narrow then atomic_add(late, 0, 1) end
    was_narrow = left <= LEAST
    own = own + where(left <= LEAST, 1, 2)
    atomic_add(seen, {column, row, group.g}, 1)
  end)
  work[blockIdx.x] = own
end)

local G = size(ends)
local seen, work = zeros(i32, {n_columns, TIMES, G}), zeros(i32, BLOCKS)
local late = zeros(i32, 1)
walk{grid = BLOCKS, block = 1}(ends, seen, work, late)

local wrong, first, total, most = 0, 0, 0, 0
for g = 0, G - 1 do
  local last = math.min(ends[g], 1500)
  local columns = (last - first + ROWS - 1) // ROWS
  for c = 0, n_columns - 1 do
    for r = 0, TIMES - 1 do
      if seen[{c, r, g}] ~= (c < columns and 1 or 0) then wrong = wrong + 1 end
    end
  end
  first = last
end
for b = 0, BLOCKS - 1 do
  total, most = total + work[b], math.max(most, work[b])
end
print(wrong, late[0], total, most <= total // BLOCKS + 2)
-- expect: 0	0	300	true
