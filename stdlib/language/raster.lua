-- raster.lua: the way of persistent blocks through tiles: `for m, n in raster{...} do`. Tile i of
-- the order goes to block i % gridDim.x; blocks of a cluster take the same one. The orders are
-- computed by the same code on the host and in kernels, but for the curve of Hilbert: that and any
-- other one is a table, which the host makes and the kernel reads, an entry ahead.
local internal = ...
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name

local DEFAULT_GROUP <const> = 16
local HALF <const> = 16 -- bits of m and of n in an entry of a table
local MOST <const> = (1 << HALF) - 1

-- {====== What the caller gives ======

local fields = {
  tiles = true, order = true, group = true, cluster = true, start = true, step = true,
}

local function check_fields(p)
  if type(p) ~= "table" then
    fail("raster", "argument 1 is of type %s; a table {tiles = {m, n}, order = ...} was expected",
      type_name(p))
  end
  for key in pairs(p) do option_names.check_key("raster", key, fields, "field") end
end

local function is_table_of_tiles(order) return type_name(order) == "tensor" end

local function check_tiles(p)
  local t = p.tiles
  if type(t) ~= "table" or #t ~= 2 then
    fail("raster", "tiles is %s; {m_tiles, n_tiles} was expected, how many there are along both "
      .. "modes", type(t) == "table" and "a table of " .. #t or type_name(t))
  end
end

local function check_count(name, n, least)
  if math.type(n) ~= "integer" or n < least then
    fail("raster", "%s is %s; an integer from %d on was expected", name, tostring(n), least)
  end
end

local orders = { groups = true, columns = true, hilbert = true }

local function check_order(order)
  if not orders[order] and not is_table_of_tiles(order) then
    fail("raster", "order is %s; expected \"groups\", \"columns\", \"hilbert\" or a tensor of "
      .. "tiles", type(order) == "string" and "'" .. order .. "'" or type_name(order))
  end
end

-- The fields with what they are where they are not given.
local function complete(p)
  check_fields(p)
  local r = { tiles = p.tiles, order = p.order or "groups", group = p.group or DEFAULT_GROUP,
              cluster = p.cluster, start = p.start or 0, step = p.step or 1 }
  check_order(r.order)
  if not is_table_of_tiles(r.order) then check_tiles(r) end
  check_count("group", r.group, 1)
  check_count("step", r.step, 1)
  return r
end

-- {====== Orders ======

-- Where there is a tile there is at least one along both modes; a divisor that is known to be
-- positive makes a plain division.
local function some(n) return max(n, 1) end

-- Groups of rows of tiles, m fastest in each, then n: blocks that run at the same time share what
-- they read. All rows in one group: column by column.
local function place(r, i) -- r: {tiles =, order =, group =}
  local m_tiles, n_tiles = some(r.tiles[1]), some(r.tiles[2])
  if r.order == "columns" then return i % m_tiles, i // m_tiles end
  local group = r.group
  local in_group = group * n_tiles
  local first = i // in_group * group
  local rows = group
  if not (internal.kernel.is_static(m_tiles) and m_tiles % group == 0) then
    rows = some(min(m_tiles - first, group))
  end
  local rest = i % in_group
  return first + rest % rows, rest // rows
end

M.place = place

local function sign(x) return x > 0 and 1 or x < 0 and -1 or 0 end

-- A curve like Hilbert's through a rectangle of any size: from (x,y) along the side a, at the far
-- end of which it ends, b being the other side. J. Cerveny's (github.com/jakubcerveny/gilbert).
local function curve(out, x, y, ax, ay, bx, by)
  local w, h = math.abs(ax + ay), math.abs(bx + by)
  local dax, day, dbx, dby = sign(ax), sign(ay), sign(bx), sign(by)
  if h == 1 or w == 1 then
    local dx, dy = h == 1 and dax or dbx, h == 1 and day or dby
    for i = 0, math.max(w, h) - 1 do out[#out + 1] = { x + i * dx, y + i * dy } end
    return
  end
  local ax2, ay2, bx2, by2 = ax // 2, ay // 2, bx // 2, by // 2
  if 2 * w > 3 * h then
    if math.abs(ax2 + ay2) % 2 == 1 and w > 2 then ax2, ay2 = ax2 + dax, ay2 + day end
    curve(out, x, y, ax2, ay2, bx, by)
    curve(out, x + ax2, y + ay2, ax - ax2, ay - ay2, bx, by)
    return
  end
  if math.abs(bx2 + by2) % 2 == 1 and h > 2 then bx2, by2 = bx2 + dbx, by2 + dby end
  curve(out, x, y, bx2, by2, ax2, ay2)
  curve(out, x + bx2, y + by2, ax, ay, bx - bx2, by - by2)
  curve(out, x + ax - dax + bx2 - dbx, y + ay - day + by2 - dby, -bx2, -by2, ax2 - ax, ay2 - ay)
end

local function hilbert(m_tiles, n_tiles)
  local out = {}
  if m_tiles == 0 or n_tiles == 0 then return out end
  if m_tiles >= n_tiles then
    curve(out, 0, 0, m_tiles, 0, 0, n_tiles)
  else
    curve(out, 0, 0, 0, n_tiles, m_tiles, 0)
  end
  return out
end

-- {====== On the host ======

local Raster = {}
local meta = tiles.new_type("raster", Raster, { "tiles", "order", "group", "start", "step" })

local function all_tiles(r)
  if is_table_of_tiles(r.order) then
    fail("raster", "order is a tensor of tiles already; its entries are m << %d | n", HALF)
  end
  local m_tiles, n_tiles = r.tiles[1], r.tiles[2]
  check_count("m_tiles", m_tiles, 0)
  check_count("n_tiles", n_tiles, 0)
  if r.order == "hilbert" then return hilbert(m_tiles, n_tiles) end
  local out = {}
  for i = 0, m_tiles * n_tiles - 1 do out[i + 1] = { place(r, i) } end
  return out
end

-- All tiles in order, or those of one of `blocks` blocks (or clusters).
function Raster:list(block, blocks)
  local all, out = all_tiles(self), {}
  block, blocks = block or 0, blocks or 1
  for i = block + self.start * blocks, #all - 1, self.step * blocks do
    out[#out + 1] = all[i + 1]
  end
  return out
end

-- The order as a tensor that kernels take: m << 16 | n of each tile.
function Raster:table()
  local out = {}
  for i, t in ipairs(all_tiles(self)) do
    if t[1] > MOST or t[2] > MOST then
      fail("raster", "tile (%d,%d) does not fit a table; %d tiles along a mode are the most",
        t[1], t[2], MOST + 1)
    end
    out[i] = t[1] << HALF | t[2]
  end
  return from_table(u32, out)
end


function meta:__call(_, control) -- for m, n in raster{...} do
  self.walk = control ~= nil and self.walk or { at = 0, tiles = self:list() }
  self.walk.at = self.walk.at + 1
  local t = self.walk.tiles[self.walk.at]
  if t then return t[1], t[2] end
end

function meta:__tostring()
  local order = is_table_of_tiles(self.order) and "a table" or self.order
  local t = self.tiles or { "?", "?" }
  return ("raster of %s x %s tiles by %s"):format(t[1], t[2], order)
end

-- {====== In a kernel ======

-- The block's number and how many there are; those of a cluster have one.
local function blocks_of(r)
  local size = cluster_size()
  if r.cluster and r.cluster ~= size then
    fail("raster", "cluster = %s, but the clusters of the launch have %d blocks; launch with "
      .. "cluster = %s", tostring(r.cluster), size, tostring(r.cluster))
  end
  if size == 1 then return blockIdx.x, gridDim.x end
  return blockIdx.x // size, gridDim.x // size
end

local function unpack_tile(entry)
  return cast(entry >> HALF, i32), cast(entry & MOST, i32)
end

-- Entries first, first + step, ... below n of the row; each is read a turn before it is used.
local function read_ahead(row, first, n, step, last)
  local following = row[min(first, last)]
  return internal.kernel.tiles_of(range(first, n, step), function(i)
    local entry = following
    following = row[min(i + step, last)]
    return unpack_tile(entry)
  end)
end

-- Of one mode: all tiles in order. Of two, a row for each block: how many tiles it has, then these.
local function from_table(r, block, blocks)
  local t = r.order
  if rank(t) == 1 then
    local n = size(t)
    return read_ahead(t, block + r.start * blocks, n, r.step * blocks, n - 1)
  end
  local row = t(block, _)
  local n = cast(row[0], i32)
  return read_ahead(row, r.start + 1, n + 1, r.step, size(row) - 1)
end

function M.raster(p)
  local r = complete(p)
  if not internal.kernel.is_tracing() then return setmetatable(r, meta) end
  local block, blocks = blocks_of(r)
  if is_table_of_tiles(r.order) then return from_table(r, block, blocks) end
  if r.order == "hilbert" then
    fail("raster", "Hilbert's curve is a table in a kernel: make it on the host, "
      .. "raster{tiles = {m, n}, order = \"hilbert\"}:table(), and pass it as order")
  end
  local indices = range(block + r.start * blocks, r.tiles[1] * r.tiles[2], r.step * blocks)
  return internal.kernel.tiles_of(indices, function(i) return place(r, i) end)
end

return M
