-- collective.lua: reductions and scans over fragments, warps and blocks, and transform: made of
-- shuffles and shared memory, written as any kernel's helper is. The order of operations is part of
-- the meaning: both engines give the same bits.
local ct = require "cuttle"
local internal = ...
local M = {}

local LANES <const> = 32
local threadIdx, blockDim = ct.threadIdx, ct.blockDim
local shfl_up, shfl_down, shfl_xor, shfl_idx = ct.shfl_up, ct.shfl_down, ct.shfl_xor, ct.shfl_idx
local where, shared, sync_threads, size = ct.where, ct.shared, ct.sync_threads, ct.size

-- {====== Operations ======

local functions = {
  add = function(a, b) return a + b end,
  mul = function(a, b) return a * b end,
  min = function(a, b) return ct.min(a, b) end,
  max = function(a, b) return ct.max(a, b) end,
  ["and"] = function(a, b) return a & b end,
  ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}
local identities = { add = 0, mul = 1, ["and"] = -1, ["or"] = 0, xor = 0 }

local function fail(name, fmt, ...) error(name .. ": " .. fmt:format(...), 0) end

local function operation(op, name)
  if type(op) == "function" then return op end
  if type(op) == "string" and functions[op] then return functions[op] end
  fail(name, "operation %s; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or a " ..
    "function of two values", type(op) == "string" and "'" .. op .. "'" or "of type " .. type(op))
end

-- What comes before the first element of an exclusive scan.
local function first_value(v, op, options, name)
  if options.init ~= nil then return options.init end
  if identities[op] then return identities[op] end
  if (op == "min" or op == "max") and math.type(v) == "float" then
    return op == "min" and math.huge or -math.huge
  end
  fail(name, "an exclusive scan by this operation needs {init = value}")
end

local known_options = { exclusive = true, init = true }

local function scan_options(options, name)
  if options == nil then return {} end
  if type(options) ~= "table" then
    fail(name, "options are a table, {exclusive = true, init = value}, not a %s", type(options))
  end
  for key in pairs(options) do
    if not known_options[key] then
      fail(name, "option '%s' is unknown; expected exclusive and init", tostring(key))
    end
  end
  if options.init ~= nil and not options.exclusive then
    fail(name, "init belongs to an exclusive scan; give {exclusive = true, init = value}")
  end
  return options
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

-- By halves; the result is in all lanes of the segment.
local function reduce_segment(v, f, width)
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
    v = where(lane + distance < rest, f(v, other), v)
    distance = distance // 2
  end
  return shfl_idx(v, 0, width)
end

-- In each lane of the first `count` the result up to it.
local function scan_lanes(v, f, lane, count)
  local distance = 1
  while distance < count do
    local other = shfl_up(v, distance)
    v = where(lane >= distance, f(other, v), v)
    distance = distance * 2
  end
  return v
end

local function to_width(width, name)
  if width == nil then return LANES end
  if math.type(width) ~= "integer" or width < 1 or width > LANES or width & (width - 1) ~= 0 then
    fail(name, "width %s; expected 1, 2, 4, 8, 16 or 32", tostring(width))
  end
  return width
end

function M.warp_reduce(v, op, width)
  return reduce_segment(v, operation(op, "warp_reduce"), to_width(width, "warp_reduce"))
end

-- From inclusive to exclusive: the value of the thread before, `first` where there is none.
local function shift(before, is_first, v, f, op, options, name)
  local first = first_value(v, op, options, name)
  if options.init ~= nil then before = f(first, before) end
  return where(is_first, first, before)
end

function M.warp_scan(v, op, options)
  local f = operation(op, "warp_scan")
  options = scan_options(options, "warp_scan")
  local lane = thread_number() % LANES
  local scan = scan_lanes(v, f, lane, LANES)
  if not options.exclusive then return scan end
  return shift(shfl_up(scan, 1), lane == 0, v, f, op, options, "warp_scan")
end

-- {====== Blocks ======

-- Puts v of the threads where `writes` holds into shared memory, one element for each warp. The
-- first barrier waits for those who read it in the turn before.
local function share(v, writes, warp, n_warps)
  local s = shared(internal.dtype_of(v), n_warps)
  sync_threads()
  if writes then s[warp] = v end
  sync_threads()
  return s
end

function M.block_reduce(v, op)
  local f = operation(op, "block_reduce")
  local n = thread_count()
  local n_warps = (n + LANES - 1) // LANES
  v = reduce_segment(v, f, LANES)
  if n_warps == 1 then return v end
  local i = thread_number()
  local lane, warp = i % LANES, i // LANES
  local s = share(v, lane == 0, warp, n_warps)
  if n % LANES == 0 and n_warps & (n_warps - 1) == 0 then
    return reduce_segment(s[lane % n_warps], f, n_warps)
  end
  local all = s[0]
  for w = 1, n_warps - 1 do all = f(all, s[w]) end
  return all
end

-- Of the warps' totals: those before this warp, and all of them.
local function scan_totals(s, f, lane, warp, n_warps)
  if thread_count() % LANES == 0 then
    local totals = scan_lanes(s[ct.min(lane, n_warps - 1)], f, lane, n_warps)
    return shfl_idx(totals, (warp + (LANES - 1)) % LANES), shfl_idx(totals, n_warps - 1)
  end
  local all = s[0]
  local before = all
  for w = 1, n_warps - 1 do
    before = where(warp == w, all, before)
    all = f(all, s[w])
  end
  return before, all
end

function M.block_scan(v, op, options)
  local f = operation(op, "block_scan")
  options = scan_options(options, "block_scan")
  local n, i = thread_count(), thread_number()
  local n_warps = (n + LANES - 1) // LANES
  local lane, warp = i % LANES, i // LANES
  local scan = scan_lanes(v, f, lane, LANES)
  local before, total
  if n_warps == 1 then
    total = shfl_idx(scan, n - 1)
  else
    local s = share(scan, lane == LANES - 1 or i == n - 1, warp, n_warps)
    before, total = scan_totals(s, f, lane, warp, n_warps)
    scan = where(warp > 0, f(before, scan), scan)
  end
  if not options.exclusive then return scan, total end
  local left = shfl_up(scan, 1)
  if before ~= nil then left = where(lane > 0, left, before) end
  return shift(left, i == 0, v, f, op, options, "block_scan"), total
end

-- {====== Tensors ======

function M.reduce(t, op, init)
  local f = operation(op, "reduce")
  local n, first, all = size(t), 0, init
  if all == nil then
    if internal.is_static(n) and n == 0 then
      fail("reduce", "the tensor is empty; give a value to begin with")
    end
    first, all = 1, t[0]
  end
  for i = first, n - 1 do all = f(all, t[i]) end
  return all
end

local function same_size(a, b)
  -- Sizes of the launch are left to the checks of accesses.
  local is_known = internal.is_static(size(a)) and internal.is_static(size(b))
  if is_known and size(a) ~= size(b) then
    fail("transform", "%s and %s have different sizes", tostring(ct.shape(a)),
      tostring(ct.shape(b)))
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
  local f = select(n, ...)
  if n < 2 or n > 4 or type(f) ~= "function" then
    fail("transform", "the arguments are (tensor, function), (source, destination, function) or " ..
      "(a, b, destination, function)")
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
