-- gemm_groups.lua: products of groups by one launch of matmul. Groups lie one after another along
-- a mode of two of the matrices, and have a matrix each in the third. A tensor on the device says
-- where each ends; on a GPU only kernels read it.
--   A (M,K)    B (N,K,G)  C (M,N)    mode "m": rows of A and C, and a matrix of B
--   A (M,K,G)  B (N,K)    C (M,N)    mode "n": rows of B are columns of C
--   A (M,K)    B (N,K)    C (M,N,G)  mode "k": parts of K, with a matrix of C each
-- A kernel takes a group's part of a matrix as a matrix of its extents, guarded: what overhangs is
-- read as 0, and not written. Ends that descend or lie outside count as the nearest that do not.
local tiles = require "cuttle.tiles"
local M = {}

local WARP <const> = 32

-- {====== On the host ======

local kinds <const> = { -- by the ranks of A and B: the mode that has groups, by its letter
  ["2 3"] = "m", ["3 2"] = "n", ["2 2"] = "k",
}
local names <const> = { m = "M", n = "N", k = "K" }

-- On the CPU the ends are at hand.
local function check_ends(op, ends, extent, name)
  local before = 0
  for g = 0, size(ends) - 1 do
    local last = ends[g]
    if last < before or last > extent then
      tiles.fail(op, "groups[%d] is %d; expected an end from %d, that of the group before, to "
        .. "%d, the extent of %s", g, last, before, extent, name)
    end
    before = last
  end
end

local function check_tensor(op, groups, device)
  if tiles.type_name(groups) ~= "tensor" then
    tiles.fail(op, "groups is of type %s; expected a tensor of i32 that says where each group "
      .. "ends, on the device of C", tiles.type_name(groups))
  elseif groups.dtype ~= i32 or rank(groups) ~= 1 then
    tiles.fail(op, "groups is %s %s; expected i32 (G), where each group ends", groups.dtype,
      groups.layout)
  elseif groups.device ~= device then
    tiles.fail(op, "groups is on %s but A is on %s; expected all on one device",
      groups.device, device)
  end
end

--- The groups of a product, as `op` takes it: {ends =, n =, mode = "m", "n" or "k"}. Ends are up to
--- `extent`, or to that of the mode.
function M.read(op, groups, A, B, extent)
  check_tensor(op, groups, A.device)
  local mode, n = kinds[rank(A) .. " " .. rank(B)], size(groups)
  if mode == nil then
    tiles.fail(op, "A is %s and B is %s; with groups at most one of them has a third mode, a "
      .. "matrix for each group", shape(A), shape(B))
  end
  local each = mode == "m" and B or mode == "n" and A
  if each and size(each, 2) ~= n then
    tiles.fail(op, "%s is %s, but there are %d groups; its mode 2 must have a matrix for each",
      mode == "m" and "B" or "A", shape(each), n)
  end
  if groups.device == "cpu" then
    local along = mode == "n" and B or A
    check_ends(op, groups, extent or size(along, mode == "k" and 1 or 0), names[mode])
  end
  return { ends = groups, n = n, mode = mode }
end

--- The same where A and B change places.
function M.swapped(groups)
  local mode = groups.mode == "m" and "n" or groups.mode == "n" and "m" or "k"
  return { ends = groups.ends, n = groups.n, mode = mode }
end

--- How many tiles there are of products of those extents, {{m, n}, ...}.
function M.listed_tiles(sizes, rows, columns)
  local n = 0
  for _, of in ipairs(sizes) do n = n + cdiv(of[1], rows) * cdiv(of[2], columns) end
  return n
end

--- How many tiles of that many rows there are at most, along `extent` rows in n groups.
function M.most_tiles(extent, n, rows) return (extent + min(n, extent) * (rows - 1)) // rows end

--- How many if the groups are equal, which configurations are chosen by.
function M.likely_tiles(extent, n, rows) return cdiv(cdiv(extent, math.max(n, 1)), rows) * n end

-- {====== In a kernel ======

-- Where group g ends, at least where it begins.
local function end_of(ends, g, first, extent) return min(max(ends[g], first), extent) end

--- The group that begins at `first`: {g =, first =, rows =}.
function M.group(ends, g, extent)
  local first = 0
  if g > 0 then first = end_of(ends, g - 1, 0, extent) end
  return { g = g, first = first, rows = end_of(ends, g, first, extent) - first }
end

-- On the way through the groups, as far as the one that has tile i: a group's number, first row and
-- end, the tiles before it and its own. Each of its tiles of `rows` rows counts `times`.
local function seek(way, i, g, first, last, before, here)
  local ends, extent = way.ends, way.extent
  while i >= before + here and g < size(ends) - 1 do
    g, first, before = g + 1, last, before + here
    last = end_of(ends, g, first, extent)
    here = cdiv(last - first, way.rows) * way.times
  end
  return g, first, last, before, here
end

local function begin(way)
  local last = end_of(way.ends, 0, 0, way.extent)
  return 0, 0, last, 0, cdiv(last, way.rows) * way.times
end

-- Of n groups from g on, the first of which begins at `first`: calls f(j, first, last, tiles) for
-- group g + j. Beyond the last group that one's end comes again.
local function each_group(way, g, n, first, f)
  for j in range(n) do
    local last = end_of(way.ends, min(g + j, size(way.ends) - 1), first, way.extent)
    f(j, first, last, cdiv(last - first, way.rows) * way.times)
    first = last
  end
end

--- Tile i of all groups' tiles, one group after another: its group {g =, first =, rows =}, its
--- number there, and whether there is such a tile. `way` is {ends =, extent =, rows =, times =}:
--- tiles of so many rows of the mode with that extent, each counted so often. All lanes of a warp
--- ask for one tile, and look at an equal part of the groups each.
function M.find(way, i)
  local lane, n = threadIdx.x % WARP, cdiv(size(way.ends), WARP)
  local own, most = lane * n, 0
  for j in range(n) do most = max(most, way.ends[min(own + j, size(way.ends) - 1)]) end
  local begins = shfl_up(warp_scan(min(most, way.extent), "max"), 1)
  begins = where(lane == 0, 0, begins)
  local count = 0
  each_group(way, own, n, begins, function(_, _, _, here) count = count + here end)
  local after = warp_scan(count, "add")
  local lanes, before = ballot(i < after), after - count
  local g, first, rows = 0, 0, 0
  each_group(way, own, n, begins, function(j, from, to, here)
    if i >= before then g, first, rows, count = own + j, from, to - from, before end
    before = before + here
  end)
  local at = max(ffs(lanes) - 1, 0)
  return { g = shfl_idx(g, at), first = shfl_idx(first, at), rows = shfl_idx(rows, at) },
    i - shfl_idx(count, at), lanes ~= 0
end

--- Calls f(group, tile) for tiles start, start + step, ...; `tile` counts those of the group.
function M.each_tile(way, start, step, f)
  local g, first, last, before, here = begin(way)
  local most = M.most_tiles(way.extent, size(way.ends), way.rows) * way.times
  for i in range(start, most, step) do
    g, first, last, before, here = seek(way, i, g, first, last, before, here)
    if i >= before + here then break end
    f({ g = g, first = first, rows = last - first }, i - before)
  end
end

-- Group v of 2 n, which are all groups twice: as each_tile_by_size goes through them.
local function visit(way, v, first)
  local n, is_again = size(way.ends), v >= size(way.ends)
  local g = where(is_again, v - n, v)
  local last = end_of(way.ends, g, first, way.extent)
  local whole, all = cdiv(max(last - first - way.least, 0), way.rows), cdiv(last - first, way.rows)
  return g, last, where(is_again, whole, 0), where(is_again, all - whole, whole)
end

--- The same, in another order and by rows and columns: calls f(group, row, column), where the group
--- has way.times rows of tiles. Its last column may have way.least or fewer of its rows, and takes
--- less time: these come after all others, so that blocks have equal work.
function M.each_tile_by_size(way, start, step, f)
  local n = size(way.ends)
  local v, first, before = 0, 0, 0
  local g, last, column, columns = visit(way, 0, 0)
  for i in range(start, M.most_tiles(way.extent, n, way.rows) * way.times, step) do
    while i >= before + columns * way.times and v < 2 * n - 1 do
      v, before = v + 1, before + columns * way.times
      first = where(v == n, 0, last)
      g, last, column, columns = visit(way, v, first)
    end
    local own = i - before
    if own >= columns * way.times then break end
    f({ g = g, first = first, rows = last - first }, own // columns, column + own % columns)
  end
end

--- The matrix of a group's rows (mode 0) or columns (mode 1).
function M.part(t, mode, group)
  local extent, at = { size(t, 0), size(t, 1) }, { 0, 0 }
  extent[mode + 1], at[mode + 1] = group.rows, group.first
  return view(tile(t, { 1, 1 }, at), layout(extent, { stride(t, 0), stride(t, 1) }))
end

return M
