-- find_layout.lua: finds how the threads of a block share the copy of a tile of a global tensor.
--   find_layout(tile_shape, n_threads, dtype[, options])
-- Candidates are the layouts of threads and values where each thread has as many elements as any
-- other: values lie together along the contiguous mode, the first threads follow them there. They
-- are ranked by the sectors that are fetched, then by the number of instructions.
local internal = ...
local option_names = require "cuttle.option_names"
local report = require "cuttle.find_report"
local search = require "cuttle.find_search"
local requests = require "cuttle.requests"
local tiles = require "cuttle.tiles"
local types = require "cuttle.types"
local M = {}

local LANES <const> = 32
local MAX_THREADS <const> = 1024
local MAX_BYTES <const> = 16     -- of one access of a thread
local SECTOR_BYTES <const> = 32
local FAR_BITS <const> = 20      -- of the elements between rows, where no stride is given
local ROWS <const> = 10

local fail = require "cuttle.fail".of "find_layout"

-- {====== The tile ======

-- Integers by mode, from 1 on.
local function to_modes(x, what)
  local ok, tuple = pcall(shape, x)
  tuple = ok and (type(tuple) == "number" and { tuple } or tuple) or {}
  local out = {}
  for i = 1, #tuple do
    if math.type(tuple[i]) ~= "integer" or tuple[i] < 1 then
      fail("%s has a mode %s; one integer per mode was expected, as {128, 64}", what,
        tostring(tuple[i]))
    end
    out[i] = tuple[i]
  end
  if #out == 0 then fail("%s is %s; {128, 64} for example was expected", what, tostring(x)) end
  return out
end

local function strides_of(order, n)
  local out = {}
  if order == nil or order == "col" or order == "row" then
    for i = 1, n do out[i] = 1 << FAR_BITS * (order == "row" and n - i or i - 1) end
  elseif type(order) == "table" then
    out = to_modes(order, "order")
  end
  if #out ~= n then
    fail("order is %s; \"col\", \"row\" or a stride for each of the %d modes was expected",
      type(order) == "table" and tiles.tuple_text(out) or tostring(order), n)
  end
  return out
end

-- The modes from the smallest stride up.
local function fastest_first(strides)
  local order = {}
  for i = 1, #strides do order[i] = i end
  table.sort(order, function(a, b)
    if strides[a] ~= strides[b] then return strides[a] < strides[b] end
    return a < b
  end)
  return order
end

-- {====== Candidates ======

-- Calls each(threads) for every way to give modes order[at], order[at + 1], ... `n` threads in all.
local function for_each_split(extents, order, at, n, threads, each)
  if at > #order then
    if n == 1 then each(threads) end
    return
  end
  local mode = order[at]
  for here = 1, math.min(n, extents[mode]) do
    if n % here == 0 and extents[mode] % here == 0 then
      threads[mode] = here
      for_each_split(extents, order, at + 1, n // here, threads, each)
    end
  end
end

-- How many elements of the contiguous mode may be one access: rows must not begin between.
local function can_be_together(tile, vec)
  local first = tile.order[1]
  if vec == 1 then return true end
  if tile.strides[first] ~= 1 or tile.extents[first] % vec ~= 0 then return false end
  for i = 2, #tile.order do
    if tile.strides[tile.order[i]] % vec ~= 0 then return false end
  end
  return true
end

local function copied(list) return table.move(list, 1, #list, 1, {}) end

local function candidates_of(tile, n_threads)
  local out, first = {}, tile.order[1]
  local vec = MAX_BYTES // tile.bytes
  while vec >= 1 do
    if can_be_together(tile, vec) then
      local extents = copied(tile.extents)
      extents[first] = extents[first] // vec
      for_each_split(extents, tile.order, 1, n_threads, {}, function(threads)
        out[#out + 1] = { vec = vec, threads = copied(threads) }
      end)
    end
    vec = vec // 2
  end
  return out
end

-- {====== Costs ======

-- A layout of these extents whose modes vary in the tile's order.
local function in_order(tile, extents)
  local rank = {}
  for at, mode in ipairs(tile.order) do rank[mode] = at - 1 end
  return ordered(extents, rank)
end

-- The element that the thread's first access begins with, as an offset of the global tensor.
local function offset_of(tile, candidate, thread)
  local offset = 0
  for at, mode in ipairs(tile.order) do
    local n = candidate.threads[mode]
    offset = offset + thread % n * tile.strides[mode] * (at == 1 and candidate.vec or 1)
    thread = thread // n
  end
  return offset
end

-- Sectors of all warps' first requests, and how many their bytes would fill.
local function sectors_of(tile, candidate, n_threads)
  local sectors, ideal, n, at = 0, 0, 0, {}
  for warp = 0, n_threads - 1, LANES do
    local lanes = math.min(LANES, n_threads - warp)
    for lane = 1, LANES do
      at[lane] = lane <= lanes and offset_of(tile, candidate, warp + lane - 1) * tile.bytes
    end
    sectors = sectors + internal.watch.sectors(at, candidate.bytes)
    ideal = ideal + math.ceil(lanes * candidate.bytes / SECTOR_BYTES)
    n = n + 1
  end
  return sectors / n, ideal / n, n
end

local function bank_costs(shared, tile, candidate)
  local swizzle = shared.swizzle
  local vec = candidate.vec
  local plain = swizzle and shared.layout or shared
  local widest = swizzle and 1 << swizzle.base or vec
  local list = requests.described(plain, tile.bytes, { writes = {
    thr = candidate.thr, val = candidate.val, vec = widest < vec and widest or nil } })
  return (requests.costs(list, tile.bytes, swizzle or function(i) return i end))
end

local function value(tile, candidate, n_threads, shared)
  local values, run = {}, tile.order[1]
  for mode = 1, #tile.extents do values[mode] = mode == run and candidate.vec or 1 end
  candidate.bytes = candidate.vec * tile.bytes
  candidate.thr, candidate.val = in_order(tile, candidate.threads), in_order(tile, values)
  candidate.instructions = tile.size // (n_threads * candidate.vec)
  local sectors, ideal, n_warps = sectors_of(tile, candidate, n_threads)
  candidate.sectors, candidate.ideal = sectors, ideal
  candidate.writes = shared and bank_costs(shared, tile, candidate)
  candidate.keys = { sectors * n_warps * candidate.instructions, candidate.instructions,
                     shared and candidate.writes.wavefronts or 0, -candidate.threads[run] }
  for at = 2, #tile.order do
    candidate.keys[#candidate.keys + 1] = -candidate.threads[tile.order[at]]
  end
end

local function comes_before(a, b)
  for i = 1, #a.keys do
    if a.keys[i] ~= b.keys[i] then return a.keys[i] < b.keys[i] end
  end
  return false
end

-- {====== The result ======

local found_type = tiles.new_type("FoundLayout", {}, { "thr", "val", "candidates", "stopped" })

function found_type:__tostring()
  local rows = { { "rank", "threads", "values", "bytes", "instructions", "sectors", "at best" } }
  if self.shared then rows[1][8] = "write conflicts" end
  for rank = 1, math.min(self.rows, #self.candidates) do
    local c = self.candidates[rank]
    rows[rank + 1] = { tostring(rank), tostring(c.thr), tostring(c.val), tostring(c.bytes),
                       tostring(c.instructions), report.number(c.sectors), report.number(c.ideal),
                       c.writes and report.conflicts(c.writes) }
  end
  local what = ("%s tile %s, %d threads"):format(self.dtype, self.tile, self.n_threads)
  return report.title(what, self) .. "\n" .. report.table(rows, 2)
end

-- The nearest numbers of threads, below and above, that the tile can be shared by.
local function near(tile, n_threads)
  local function first(from, to, step)
    for n = from, to, step do
      if #candidates_of(tile, n) > 0 then return n end
    end
  end
  local below = first(n_threads - 1, 1, -1)
  local above = first(n_threads + 1, math.min(tile.size, MAX_THREADS), 1)
  return below and above and ("%d or %d"):format(below, above) or tostring(below or above)
end

local known_options <const> = { order = true, rows = option_names.whole(1), shared = true }

local function to_shared(x, tile)
  if x == nil then return nil end
  local shared = type(x) == "string" and L(x) or x
  if not types.is_a(shared, "layout") then
    fail("shared is %s; the layout of the shared tensor that is written was expected", type(x))
  elseif size(shared) % tile.size ~= 0 then
    fail("the shared layout %s has %d elements; the tile's %d or a multiple were expected",
      tostring(shared), size(shared), tile.size)
  end
  return shared
end

function M.find_layout(tile_shape, n_threads, dtype, options)
  options = options or {}
  if math.type(n_threads) ~= "integer" or n_threads < 1 or n_threads > MAX_THREADS then
    fail("the number of threads is %s; an integer from 1 to %d was expected", tostring(n_threads),
      MAX_THREADS)
  elseif not types.is_a(dtype, "dtype") then
    fail("the element type was expected, as in find_layout({128, 64}, 128, f16)")
  end
  option_names.check("find_layout", options, known_options)
  local extents = to_modes(tile_shape, "the tile")
  local strides = strides_of(options.order, #extents)
  local tile = { extents = extents, strides = strides, order = fastest_first(strides), size = 1,
                 bytes = dtype.bytes }
  for _, extent in ipairs(extents) do tile.size = tile.size * extent end
  local wanted = candidates_of(tile, n_threads)
  if #wanted == 0 then
    fail("%d threads cannot share the %d elements of the tile %s evenly, mode by mode; %s threads "
      .. "can", n_threads, tile.size, tiles.tuple_text(extents), near(tile, n_threads))
  end
  local shared = to_shared(options.shared, tile)
  local done, stopped = search.rank("find_layout", wanted,
    function(candidate) value(tile, candidate, n_threads, shared) end, comes_before)
  return setmetatable({ thr = done[1].thr, val = done[1].val, candidates = done,
                        dtype = tostring(dtype), tile = tiles.tuple_text(extents),
                        n_threads = n_threads, shared = shared, stopped = stopped,
                        n_wanted = #wanted, rows = options.rows or ROWS }, found_type)
end

return M
