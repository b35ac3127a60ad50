-- compare.lua: allclose of tensors on a device, by kernels: what the loop of bind_allclose.c finds,
-- without copies on the host. A first launch counts the elements that differ, and finds the largest
-- excess, in tolerances. If some differ, a second one finds the first element that has it. Excesses
-- are doubles that are not negative, so their bits are ordered as they are.
local arguments = require "cuttle.arguments"
local tiles = require "cuttle.tiles"
local M = {}

-- Fewer elements are copied to the host: that takes less time than to compile kernels once.
M.least = 1 << 20

local THREADS <const>, MOST_BLOCKS <const> = 256, 1056
-- Elements of the tensor in i64 that goes with a comparison.
local RTOL <const>, ATOL <const>, COUNT <const>, TOP <const>, BEFORE_END <const> = 0, 1, 2, 3, 4
M.state_size = 5

-- {====== In kernels ======

-- How many tolerances apart: 0 for equal ones, at most 1 within the tolerance. NaN is close to
-- nothing, an infinity to itself.
local function float_excess(a, b, rtol, atol)
  local excess = cast(0.0, f64)
  if a ~= b then
    local distance, allowed = abs(a - b), atol + rtol * abs(b)
    if distance ~= distance or abs(b) == math.huge then
      excess = cast(math.huge, f64)
    elseif distance <= allowed then
      excess = cast(1.0, f64)
    elseif allowed > 0.0 then
      excess = distance / allowed
    else
      excess = cast(math.huge, f64)
    end
  end
  return excess
end

-- A double would lose bits of large integers.
local function exact_excess(a, b)
  local excess = cast(0.0, f64)
  if cast(a, i64) ~= cast(b, i64) then excess = cast(math.huge, f64) end
  return excess
end

-- What compares two elements, in a kernel with that state.
local function new_excess(is_exact, state)
  if is_exact then return exact_excess end
  local rtol, atol = bitcast(state[RTOL], f64), bitcast(state[ATOL], f64)
  return function(a, b) return float_excess(cast(a, f64), cast(b, f64), rtol, atol) end
end

-- Two roundings in the tolerance, as on the host.
local options <const> = { contract = false }

local function new_count(is_exact)
  return kernel("allclose_count", function(a, b, state)
    local excess_of = new_excess(is_exact, state)
    local n, top = cast(0, i64), cast(0, i64)
    local first = cast(blockIdx.x, i64) * blockDim.x + threadIdx.x
    for i in range(first, size(a), gridDim.x * blockDim.x) do
      local excess = excess_of(a[i], b[i])
      if excess > 1.0 then
        n = n + 1
        top = max(top, bitcast(excess, i64))
      end
    end
    local n_all, top_of_all = block_reduce(n, "add"), block_reduce(top, "max")
    if threadIdx.x == 0 and n_all > 0 then
      atomic_add(state, COUNT, n_all)
      atomic_max(state, TOP, top_of_all)
    end
  end, options)
end

-- The first is the one with most elements from it to the end.
local function new_find(is_exact)
  return kernel("allclose_find", function(a, b, state)
    local excess_of, before_end = new_excess(is_exact, state), cast(0, i64)
    local first = cast(blockIdx.x, i64) * blockDim.x + threadIdx.x
    for i in range(first, size(a), gridDim.x * blockDim.x) do
      if bitcast(excess_of(a[i], b[i]), i64) == state[TOP] then
        before_end = max(before_end, size(a) - i)
      end
    end
    local most = block_reduce(before_end, "max")
    if threadIdx.x == 0 and most > 0 then atomic_max(state, BEFORE_END, most) end
  end, options)
end

local kernels <const> = {}
for _, is_exact in ipairs { true, false } do
  kernels[is_exact] = { count = new_count(is_exact), find = new_find(is_exact) }
end

-- {====== Launches ======

-- With as few modes as there can be: the same elements in the same order, by less arithmetic.
local function flat(t)
  if tiles.type_name(t.layout) ~= "layout" then return t end
  return view(t, coalesce(t.layout))
end

local function bits_of(x) return (string.unpack("<i8", string.pack("<d", x))) end

local function new_state(rtol, atol, device)
  local state = zeros(i64, M.state_size):to "cpu"
  state[RTOL], state[ATOL] = bits_of(rtol), bits_of(atol)
  return state:to(device)
end

-- A function that launches one of the kernels for these tensors.
local function launcher(a, b, state)
  local n = math.max(size(a), 1)
  local grid = math.min(cdiv(n, THREADS), MOST_BLOCKS)
  local x, y = flat(a), flat(b)
  return function(kernel) kernel { grid = grid, block = THREADS }(x, y, state) end
end

--- Of two tensors on one device, with as many elements: how many differ by more than the tolerance,
--- and which one by the most tolerances, counted in linear order. is_exact: integers must be equal.
function M.worst(a, b, rtol, atol, is_exact)
  local state = new_state(rtol, atol, a.device)
  local launch, by = launcher(a, b, state), kernels[is_exact]
  launch(by.count)
  local n_differ = state:to "cpu"[COUNT]
  if n_differ == 0 then return 0, -1 end
  launch(by.find)
  return n_differ, size(a) - state:to "cpu"[BEFORE_END]
end

local function is_few(a) return size(a) < math.max(M.least, 1) end

--- Where launches do nothing but collect texts: launches what on_device would.
function M.collect(a, b, is_exact)
  if is_few(a) then return end
  local launch, by = launcher(a, b, new_state(0, 0, a.device)), kernels[is_exact]
  launch(by.count)
  launch(by.find)
end

--- The same for allclose; nil: the host is to do it, as few elements are to be compared or kernels
--- cannot be compiled.
function M.on_device(a, b, rtol, atol, is_exact)
  if is_few(a) then return nil end
  return arguments.by_kernels(M.worst, a, b, rtol, atol, is_exact)
end

return M
