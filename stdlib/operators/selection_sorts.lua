-- selection_sorts.lua: sort and argsort of vectors, rows and segments. Segments are sorted as one
-- vector, and then stably by the number of their segment, so their sizes do not matter.
local call = require "cuttle.selection_call"
local numbers = require "cuttle.selection_keys"
local radix = require "cuttle.selection_sort"
local segments = require "cuttle.selection_segments"
local top = require "cuttle.selection_top"
local M = {}

local THREADS <const> = 256

-- {====== Segments ======

-- The number of the segment of each element that `order` names.
local of_rows = kernel("segment_of_row", function(order, ids, columns)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(order) then ids[i] = cast(order[i] // columns, u32) end
end)

-- How many offsets are at the element or before it.
local of_offsets = kernel("segment_of_offset", function(order, ids, offsets)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(order) then
    local at, low, high = order[i], i32(0), cast(size(offsets), i32)
    while low < high do
      local middle = (low + high) // 2
      local is_before = offsets[middle] <= at
      low, high = where(is_before, middle + 1, low), where(is_before, high, middle)
    end
    ids[i] = cast(low, u32)
  end
end)

local pick = kernel("pick", function(from, order, to)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(order) then to[i] = from[order[i]] end
end)

local function each(n, k, args)
  return { kernel = k, args = args, launch = { grid = cdiv(n, THREADS), block = THREADS } }
end

local function append(steps, more)
  table.move(more, 1, #more, #steps + 1, steps)
end

-- The steps that write the order of elements within the segments of x.
local function segment_steps(x, offsets, order, o)
  local like, n = order.dtype, x.n
  local first, ids = call.work(x, like, n), call.work(x, u32, n)
  local steps = radix.steps(x, true, call.work(x, x.tensor.dtype, n), first, o)
  if offsets then
    steps[#steps + 1] = each(n, of_offsets, { first, ids, offsets.flat })
  else
    steps[#steps + 1] = each(n, of_rows, { first, ids, x.columns })
  end
  local n_segments = offsets and offsets.n + 1 or x.n_rows
  append(steps, radix.steps(call.described(ids), first, call.work(x, u32, n), order,
    { below = n_segments, config = o.config }))
  return steps
end

-- Does a block sort each row in shared memory? `config` is for the radix sort.
local function by_rows(x, offsets, o)
  return not offsets and not o.config and x.n_rows > 1 and top.holds(x)
end

-- The steps of a sort of x by segments, or nil if x is one segment.
local function sort_segments(x, offsets, pairs_of, o)
  if not offsets and x.n_rows <= 1 then return nil end
  local order = call.work(x, x.n < 1 << 31 and i32 or i64, x.n)
  local steps = segment_steps(x, offsets, order, o)
  for _, pair in ipairs(pairs_of) do
    steps[#steps + 1] = each(x.n, pick, { pair[1], order, pair[2] })
  end
  return steps
end

-- {====== Calls ======

local function check_config(op, config)
  if config == nil then return end
  local threads, items = config.threads, config.items
  if math.type(threads) ~= "integer" or threads < 256 or threads > 1024 or threads % 32 ~= 0
    or math.type(items) ~= "integer" or items < 1 or items > 32 then
    call.fail(op, "config has threads = %s and items = %s; expected a multiple of 32 from 256 to "
      .. "1024, and 1 to 32", tostring(threads), tostring(items))
  end
end

local function read_keys(op, keys, options)
  local x = call.whole(op, keys, "keys")
  call.check_type(op, x, numbers.types)
  check_config(op, options.config)
  if options.offsets == nil then return x end
  if #x.extent ~= 1 then
    call.fail(op, "offsets needs a tensor with one mode, but keys is (%s): its rows are segments "
      .. "already", table.concat(x.extent, ","))
  end
  return x, segments.offsets(op, options.offsets, x)
end

local function read_values(op, values, keys)
  if values == nil then return nil end
  local v = call.whole(op, values, "values")
  if table.concat(v.extent, ",") ~= table.concat(keys.extent, ",") then
    call.fail(op, "values is (%s), but keys is (%s); expected one value for each key",
      table.concat(v.extent, ","), table.concat(keys.extent, ","))
  end
  call.check_device(op, v, keys)
  return v
end

local function same_as(t) return { dtype = t.tensor.dtype, shape = t.extent, only = true } end

--- sort(keys[, values][, options]) -> the keys in order, and their values
M.sort = call.define("sort", 2, { "config", "descending", "offsets" }, "{descending = true}",
  function(options, keys, values)
    local op = "sort"
    local x, offsets = read_keys(op, keys, options)
    local v = read_values(op, values, x)
    local found, tensors = call.results(op, options, x, { same_as(x), v and same_as(v) },
      { x, v or offsets, offsets })
    if x.n == 0 then return {}, tensors end
    if by_rows(x, offsets, options) then
      local out = { values = found[1].flat, moved = v and found[2].flat }
      return { top.step(x, v and v.flat, out, x.columns, options.descending or false) }, tensors
    end
    local moved = { { x.flat, found[1].flat }, v and { v.flat, found[2].flat } }
    return sort_segments(x, offsets, moved, options)
      or radix.steps(x, v and v.flat, found[1].flat, v and found[2].flat, options), tensors
  end)

--- argsort(keys[, options]) -> the place of each key in order, i32: in its row or in the vector
M.argsort = call.define("argsort", 1, { "config", "descending", "offsets" }, "{descending = true}",
  function(options, keys)
    local op = "argsort"
    local x, offsets = read_keys(op, keys, options)
    local found, tensors = call.results(op, options, x,
      { { dtype = x.n < 1 << 31 and i32 or i64, shape = x.extent, only = true } }, { x, offsets })
    if x.n == 0 then return {}, tensors end
    local order = found[1].flat
    if by_rows(x, offsets, options) then
      return { top.step(x, nil, { columns = order }, x.columns, options.descending or false) },
        tensors
    end
    if offsets then return segment_steps(x, offsets, order, options), tensors end
    if x.n_rows <= 1 then
      return radix.steps(x, true, call.work(x, x.tensor.dtype, x.n), order, options), tensors
    end
    local steps = segment_steps(x, nil, order, options)
    steps[#steps + 1] = each(x.n, M.in_rows, { order, x.columns })
    return steps, tensors
  end)

--- Places in a matrix as places in its rows.
M.in_rows = kernel("in_rows", function(order, columns)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(order) then order[i] = order[i] % columns end
end)

return M
