-- collective.lua: reductions and scans over fragments, warps and blocks, and transform: made of
-- shuffles and shared memory, written as any kernel's helper is. The order of operations is part of
-- the meaning: both engines give the same bits.
local fail = require "cuttle.fail".fail
local option_names = require "cuttle.option_names"
local record = require "cuttle.record"
local type_name = require("cuttle.tiles").type_name
local internal = ...
local M = {}

local LANES <const> = 32
local keys_of, map = record.keys_of, record.map

-- {====== Operations ======

local functions <const> = {
  add = function(a, b) return a + b end,
  mul = function(a, b) return a * b end,
  min = function(a, b) return min(a, b) end,
  max = function(a, b) return max(a, b) end,
  ["and"] = function(a, b) return a & b end,
  ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}
local identities = { add = 0, mul = 1, ["and"] = -1, ["or"] = 0, xor = 0 }

local function operation(op, name, v)
  if type(op) == "function" then return op end
  if type(v) == "table" and getmetatable(v) == nil then
    fail(name, "operation '%s' of a table; pass a function of two such tables that returns a third",
      tostring(op))
  end
  if type(op) == "string" and functions[op] then return functions[op] end
  fail(name, "operation %s; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or a " ..
    "function of two values", type(op) == "string" and "'" .. op .. "'" or "of type " .. type(op))
end

local of_bits <const> = { ["and"] = true, ["or"] = true, xor = true }

-- The function of a script takes what it likes.
local function check_numbers(op, dtype, name)
  if functions[op] and (dtype == bool or of_bits[op] and dtype.is_float) then
    fail(name, "operation '%s' of %s; expected %s%s", op, tostring(dtype),
      of_bits[op] and "integers" or "numbers", dtype == bool and "; write where(c, 1, 0)" or "")
  end
end

--- For dot_rows.lua.
M.operation = operation

--- Operations by name, for scans of whole tensors.
M.functions = functions

-- What comes before the first element of an exclusive scan, in the type of the values.
local function first_value(v, op, options, name)
  if options.init ~= nil then return options.init end
  if type(v) == "table" then
    fail(name, "an exclusive scan of tables needs {init = table}, with the keys of the values")
  end
  if identities[op] then return cast(identities[op], internal.kernel.dtype_of(v)) end
  if (op == "min" or op == "max") and math.type(v) == "float" then
    return op == "min" and math.huge or -math.huge
  end
  fail(name, "an exclusive scan by this operation needs {init = value}")
end

local block_options = { "exclusive", "init", "reverse" }
local warp_options = { "exclusive", "init", "mask", "reverse" }

local function scan_options(options, known, name)
  options = option_names.check(name, options, known, "{exclusive = true, init = value}")
  if options.init ~= nil and not options.exclusive then
    fail(name, "init belongs to an exclusive scan; give {exclusive = true, init = value}")
  end
  return options
end

-- {====== Records ======

local function choose(keys, c, a, b)
  if keys == nil then return where(c, a, b) end
  return map(keys, a, function(x, key) return where(c, x, b[key]) end)
end

local function check_keys(keys, r, what, name)
  if type(r) ~= "table" then
    fail(name, "%s is a %s; expected a table with the keys of the values", what, type(r))
  end
  local n = 0
  for _ in pairs(r) do n = n + 1 end
  for _, key in ipairs(keys) do
    if r[key] == nil then fail(name, "%s has no key '%s'; the values have it", what, key) end
  end
  if n > #keys then
    fail(name, "%s has %d keys, but the values have %d; expected the same keys", what, n, #keys)
  end
end

-- A number of Lua takes the field's type, unless it is a float where an integer is expected.
local function check_type(x, want, key, what, name)
  local is = internal.kernel.dtype_of(x)
  if tostring(is) == tostring(want) then return x end
  if internal.kernel.converts(x, want) then return cast(x, want) end
  fail(name, "key '%s' is %s in the values, but %s in %s; cast one of them, as in %s(x)", key,
    tostring(want), tostring(is), what, tostring(is))
end

-- The record r with the keys and types of v.
local function as_record(keys, r, v, what, name)
  check_keys(keys, r, what, name)
  return map(keys, r, function(x, key)
    return check_type(x, internal.kernel.dtype_of(v[key]), key, what, name)
  end)
end

-- A function of the script, whose results are checked.
local function checked(f, name)
  return function(a, b)
    local r = f(a, b)
    record.check_scalar(r, "the function's result", name)
    return r
  end
end

local function prepare_scalar(v, op, f, name)
  record.check_scalar(v, "the value", name)
  check_numbers(op, internal.kernel.dtype_of(v), name)
  return internal.kernel.widened(v), nil, type(op) == "function" and checked(f, name) or f
end

-- The value with run-time fields, none of them of a narrow type, its keys, and the function with
-- its results looked at.
local function prepare(v, op, name)
  local f = operation(op, name, v)
  local keys = keys_of(v, name)
  if keys == nil then return prepare_scalar(v, op, f, name) end
  v = map(keys, v, function(x)
    return internal.kernel.widened(cast(x, internal.kernel.dtype_of(x)))
  end)
  return v, keys, function(a, b)
    return as_record(keys, f(a, b), v, "the function's result", name)
  end
end

-- {====== Places of threads ======

local function thread_count() return blockDim.x * blockDim.y * blockDim.z end

-- The thread's number in its block, x fastest.
local function thread_number()
  local i = threadIdx.x
  if blockDim.y > 1 then i = i + threadIdx.y * blockDim.x end
  if blockDim.z > 1 then i = i + threadIdx.z * (blockDim.x * blockDim.y) end
  return i
end

-- {====== Warps ======

local function only(outer, r)
  internal.kernel.overflow_again(outer)
  return r
end

-- f(a, b) where c holds, else `otherwise`: there integers of f(a, b) may wrap around.
local function choose_result(keys, c, f, a, b, otherwise)
  return choose(keys, c, only(internal.kernel.overflow_where(c, true), f(a, b)), otherwise)
end

-- By halves; the result is in all lanes of the segment. The operation is commutative.
local function reduce_by_halves(v, f, width)
  local n, distance = thread_count(), width // 2
  if n % width == 0 then
    while distance > 0 do
      v = f(v, shfl_xor(v, distance))
      distance = distance // 2
    end
    return v
  end
  local i = thread_number()
  local lane = i % width
  local rest = n - (i - lane) -- threads from the segment's first on
  while distance > 0 do
    local other = shfl_down(v, distance, width)
    local others = internal.kernel.overflow_where(lane < distance, true)
    v = choose_result(nil, lane + distance < rest, f, v, other, v)
    internal.kernel.overflow_again(others)
    distance = distance // 2
  end
  return shfl_idx(v, 0, width)
end

-- In the order of the lanes: neighbours first. The result is in the segment's first lane; other
-- lanes would have it in another order, and so other bits.
local function reduce_in_order(v, f, width, keys)
  local n, distance = thread_count(), 1
  local lane = thread_number() % width
  local rest = n - (thread_number() - lane)
  while distance < width do
    local by = distance
    local others = internal.kernel.overflow_where(lane % (2 * distance) == 0, true)
    if others and n % width ~= 0 then
      internal.kernel.overflow_where(lane + distance < rest, true)
    end
    local all = f(v, map(keys, v, function(x) return shfl_down(x, by, width) end))
    internal.kernel.overflow_again(others)
    v = n % width == 0 and all or choose(keys, lane + distance < rest, all, v)
    distance = distance * 2
  end
  return v
end

local function reduce_segment(v, f, width, keys)
  if keys == nil then return reduce_by_halves(v, f, width) end
  v = reduce_in_order(v, f, width, keys)
  return map(keys, v, function(x) return shfl_idx(x, 0, width) end)
end

-- The values of the lanes that are n before this one, or n after it.
local function shifted(v, keys, n, reverse)
  return map(keys, v, function(x)
    if reverse then return shfl_down(x, n) end
    return shfl_up(x, n)
  end)
end

-- The places of a thread's lane in its warp, and of its warp, in the order of a scan.
local function places(reverse)
  local n, i = thread_count(), thread_number()
  local lane, warp = i % LANES, i // LANES
  if not reverse then return lane, warp end
  local lanes = n % LANES == 0 and LANES or min(n - warp * LANES, LANES)
  return lanes - 1 - lane, (n - 1) // LANES - warp
end

-- In each lane, at `place` of the first `count`, the result up to it.
local function scan_lanes(v, f, place, count, keys, reverse)
  local distance = 1
  while distance < count do
    local other = shifted(v, keys, distance, reverse)
    local others = internal.kernel.overflow_where(place < count, true)
    v = choose_result(keys, place >= distance, f, other, v, v)
    internal.kernel.overflow_again(others)
    distance = distance * 2
  end
  return v
end

-- {====== Lanes of a mask ======
-- The lanes of a mask stand in a list, in their order. In each round a lane combines what the lanes
-- before it have, as many again as in the round before.

local ROUNDS <const> = 5

local function check_mask(mask, name)
  record.check_scalar(mask, "mask", name)
  if internal.kernel.is_static(mask) and mask == 0 then
    fail(name, "mask is 0; bit i stands for lane i, and one at least is 1")
  end
end

-- The lane before this one in the mask, or after it; -1: there is none.
local function lane_before(lane, mask, reverse)
  if reverse then return ffs(cast(mask, u32) & ~((u32(2) << lane) - 1)) - 1 end
  return LANES - 1 - clz(cast(mask, u32) & (u32(1) << lane) - 1)
end

local function from_lane(v, keys, lane, mask)
  return map(keys, v, function(x) return shfl_idx(x, lane, { mask = mask }) end)
end

-- In each lane the result up to it.
local function scan_mask(v, f, mask, keys, reverse)
  local lane = thread_number() % LANES
  local before = lane_before(lane, mask, reverse)
  for round = 1, ROUNDS do
    local has = before >= 0
    local from = where(has, before, lane)
    v = choose_result(keys, has, f, from_lane(v, keys, from, mask), v, v)
    if round < ROUNDS then before = where(has, shfl_idx(before, from, { mask = mask }), -1) end
  end
  return v
end

-- Words have an instruction for it.
local function reduce_mask(v, op, f, mask, keys)
  local r = keys == nil and internal.kernel.reduce_lanes(v, op, mask) or nil
  if r ~= nil then return r end
  local last = LANES - 1 - clz(cast(mask, u32))
  return from_lane(scan_mask(v, f, mask, keys), keys, last, mask)
end

-- {====== Widths ======

local function to_width(width, name)
  if width == nil then return LANES end
  if math.type(width) ~= "integer" or width < 1 or width > LANES or width & (width - 1) ~= 0 then
    fail(name, "width %s; expected 1, 2, 4, 8, 16 or 32", tostring(width))
  end
  return width
end

local reduce_options = { "mask", "width" }

function M.warp_reduce(v, op, width)
  local keys, f
  v, keys, f = prepare(v, op, "warp_reduce")
  if type(width) == "table" then
    option_names.check("warp_reduce", width, reduce_options)
    if width.mask ~= nil and width.width ~= nil then
      fail("warp_reduce", "mask and width; give one of them")
    end
    if width.mask ~= nil then check_mask(width.mask, "warp_reduce") end
    if width.mask ~= nil then return reduce_mask(v, op, f, width.mask, keys) end
    width = width.width
  end
  return reduce_segment(v, f, to_width(width, "warp_reduce"), keys)
end

-- From inclusive to exclusive: the value of the thread before, `first` where there is none.
local function shift(before, is_first, v, keys, f, op, options, name)
  local first = first_value(v, op, options, name)
  if keys ~= nil then first = as_record(keys, first, v, "init", name) end
  if options.init ~= nil then
    before = only(internal.kernel.overflow_where(is_first, false), f(first, before))
  end
  return choose(keys, is_first, first, before)
end

local function masked_scan(v, op, f, keys, options)
  local mask, lane = options.mask, thread_number() % LANES
  check_mask(mask, "warp_scan")
  local scan = scan_mask(v, f, mask, keys, options.reverse)
  if not options.exclusive then return scan end
  local before = lane_before(lane, mask, options.reverse)
  local from = from_lane(scan, keys, where(before < 0, lane, before), mask)
  return shift(from, before < 0, v, keys, f, op, options, "warp_scan")
end

function M.warp_scan(v, op, options)
  local keys, f
  v, keys, f = prepare(v, op, "warp_scan")
  options = scan_options(options, warp_options, "warp_scan")
  if options.mask ~= nil then return masked_scan(v, op, f, keys, options) end
  local place = places(options.reverse)
  local scan = scan_lanes(v, f, place, LANES, keys, options.reverse)
  if not options.exclusive then return scan end
  local left = shifted(scan, keys, 1, options.reverse)
  return shift(left, place == 0, v, keys, f, op, options, "warp_scan")
end

-- {====== Blocks ======

-- The scratch of a value: a shared tensor, of a record one for each field.
local function scratch_of(v, keys, n_warps)
  local slot = 0
  return map(keys, v, function(x)
    slot = slot + 1
    return internal.kernel.scratch(internal.kernel.dtype_of(x), n_warps, slot)
  end)
end

-- Puts v of the threads where `writes` holds into shared memory, one element for each warp. Calls
-- in a row take two scratches in turn: the barrier of the call between separates two uses of one.
-- The first call of a row begins with a barrier, for those who read the scratch in the turn before,
-- if a loop or an earlier call gives them the chance.
local function share(v, keys, writes, warp, n_warps)
  local is_read = internal.kernel.scratch_begin()
  local s = scratch_of(v, keys, n_warps)
  if is_read then sync_threads() end
  if writes then
    if keys == nil then s[warp] = v end
    for _, key in ipairs(keys or {}) do s[key][warp] = v[key] end
  end
  sync_threads()
  internal.kernel.scratch_end()
  return s
end

local function read(s, keys, at) return map(keys, s, function(t) return t[at] end) end

function M.block_reduce(v, op)
  local keys, f
  v, keys, f = prepare(v, op, "block_reduce")
  local n = thread_count()
  local n_warps = (n + LANES - 1) // LANES
  if n_warps == 1 then return reduce_segment(v, f, LANES, keys) end
  local partial = keys == nil and reduce_by_halves(v, f, LANES) or
    reduce_in_order(v, f, LANES, keys)
  local i = thread_number()
  local lane, warp = i % LANES, i // LANES
  local s = share(partial, keys, lane == 0, warp, n_warps)
  if n % LANES == 0 and n_warps & (n_warps - 1) == 0 then
    return reduce_segment(read(s, keys, lane % n_warps), f, n_warps, keys)
  end
  local all = read(s, keys, 0)
  for w = 1, n_warps - 1 do all = f(all, read(s, keys, w)) end
  return all
end

-- Of the warps' totals: those before this warp, and all of them.
local function scan_totals(s, keys, f, lane, warp, n_warps)
  if thread_count() % LANES == 0 then
    local totals = scan_lanes(read(s, keys, min(lane, n_warps - 1)), f, lane, n_warps, keys)
    local before = (warp + (LANES - 1)) % LANES
    return map(keys, totals, function(x) return shfl_idx(x, before) end),
      map(keys, totals, function(x) return shfl_idx(x, n_warps - 1) end)
  end
  local all = read(s, keys, 0)
  local before = all
  for w = 1, n_warps - 1 do
    before = choose(keys, warp == w, all, before)
    all = f(all, read(s, keys, w))
  end
  return before, all
end

function M.block_scan(v, op, options)
  local keys, f
  v, keys, f = prepare(v, op, "block_scan")
  options = scan_options(options, block_options, "block_scan")
  local n, i = thread_count(), thread_number()
  local n_warps, lane, reverse = (n + LANES - 1) // LANES, i % LANES, options.reverse
  local place, warp = places(reverse)
  local scan = scan_lanes(v, f, place, LANES, keys, reverse)
  local before, total
  if n_warps == 1 then
    local last = reverse and 0 or n - 1
    total = map(keys, scan, function(x) return shfl_idx(x, last) end)
  else
    local is_last = lane == LANES - 1 or i == n - 1
    if reverse then is_last = lane == 0 end
    local s = share(scan, keys, is_last, warp, n_warps)
    before, total = scan_totals(s, keys, f, lane, warp, n_warps)
    scan = choose_result(keys, warp > 0, f, before, scan, scan)
  end
  if not options.exclusive then return scan, total end
  local left = shifted(scan, keys, 1, reverse)
  if before ~= nil then left = choose(keys, place > 0, left, before) end
  local first = reverse and n - 1 or 0
  return shift(left, i == first, v, keys, f, op, options, "block_scan"), total
end

-- {====== Tensors ======

local MOST_TYPES <const> = 3

-- The type of the results: what a loop changes keeps its type. The function is asked with numbers
-- of these types.
local function type_of_results(f, first, element)
  local one = cast(1, element)
  for _ = 1, MOST_TYPES do
    local result = internal.kernel.dtype_of(f(first, one))
    if tostring(result) == tostring(internal.kernel.dtype_of(first)) then return result end
    first = cast(1, result)
  end
  fail("reduce", "the function's result, %s, never has the type of its first value; cast it",
    tostring(internal.kernel.dtype_of(first)))
end

local function as_result(f, first, element)
  if type(first) == "table" then return first end
  local like = internal.kernel.is_static(first) and first
    or cast(1, internal.kernel.dtype_of(first))
  return cast(first, type_of_results(f, like, element))
end

function M.reduce(t, op, init)
  if type_name(t) ~= "tensor" then
    fail("reduce", "argument 1 is of type %s; a tensor was expected, and block_reduce has one "
      .. "value of each thread", type_name(t))
  end
  local f = operation(op, "reduce")
  check_numbers(op, t.dtype, "reduce")
  if init ~= nil and type(op) == "string" then
    record.check_scalar(init, "the value to begin with", "reduce")
  end
  local n, first, all = size(t), 0, init
  if all == nil then
    if internal.kernel.is_static(n) and n == 0 then
      fail("reduce", "the tensor is empty; give a value to begin with")
    end
    first, all = 1, t[0]
  end
  if internal.kernel.is_tracing() then all = as_result(f, all, t.dtype) end
  for i = first, n - 1 do all = f(all, t[i]) end
  return all
end

local function same_size(a, b)
  -- Sizes of the launch are left to the checks of accesses.
  local is_known = internal.kernel.is_static(size(a)) and internal.kernel.is_static(size(b))
  if is_known and size(a) ~= size(b) then
    fail("transform", "%s and %s have different sizes", tostring(shape(a)), tostring(shape(b)))
  end
end

local function transform_one(src, dst, f)
  same_size(src, dst)
  for i = 0, size(dst) - 1 do dst[i] = f(src[i]) end
end

local function transform_two(a, b, dst, f)
  same_size(a, dst)
  same_size(b, dst)
  for i = 0, size(dst) - 1 do dst[i] = f(a[i], b[i]) end
end

function M.transform(...)
  local n = select("#", ...)
  local f = n > 0 and select(n, ...)
  if n < 2 or n > 4 or type(f) ~= "function" then
    fail("transform", "the arguments are (tensor, function), (source, destination, function) or " ..
      "(a, b, destination, function)")
  end
  for i = 1, n - 1 do
    local kind = type_name((select(i, ...)))
    if kind == "number" or kind == "nil" or kind == "boolean" or kind == "string" then
      fail("transform", "argument %d is of type %s; a tensor was expected", i, kind)
    end
  end
  if n == 4 then
    transform_two(...)
  elseif n == 3 then
    transform_one(...)
  else
    transform_one((...), ...)
  end
end

return M
