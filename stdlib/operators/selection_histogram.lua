-- selection_histogram.lua: how many elements fall into each bin. Each block counts in shared memory
-- if the bins fit there, and then adds its counts to the results.
local call = require "cuttle.selection_call"
local memo = require "cuttle.memo"
local M = {}

local op <const> = "histogram"
local THREADS <const>, BLOCKS <const>, ITEMS <const> = 256, 528, 16
local SHARED_BINS <const> = 8192

-- {====== The bin of a value, -1 for none ======

-- Even bins of integers, exactly.
local function even_of_integers(v, bins, low, high)
  local is_inside = v >= low and v <= high
  return where(is_inside, min((v - low) * bins // (high - low), bins - 1), -1)
end

local function even_of_floats(v, bins, low, high)
  local at = floor((v - low) * (bins / (high - low)))
  return where(v >= low and v <= high, min(cast(at, i32), bins - 1), -1)
end

-- Bins between the edges: a bin has its lower edge, and the last one both.
local function between(v, edges)
  local low, high, n = i32(0), cast(size(edges), i32), cast(size(edges), i32)
  while low < high do
    local middle = (low + high) // 2
    local is_up_to = edges[middle] <= v
    low, high = where(is_up_to, middle + 1, low), where(is_up_to, high, middle)
  end
  local is_last = v == edges[n - 1]
  return where(is_last, n - 2, where(low == n, -1, low - 1))
end

-- {====== The kernel ======

local function bin_of(c, v, edges, bins, low, high)
  if edges then return between(v, edges) end
  if c.is_float then return even_of_floats(v, bins, low, high) end
  return cast(even_of_integers(cast(v, i64), cast(bins, i64), low, high), i32)
end

local function each_bin(c, x, edges, bins, low, high, f)
  local first = blockIdx.x * THREADS + threadIdx.x
  for i in range(first, size(x), gridDim.x * THREADS, { unroll = 4 }) do
    local bin = bin_of(c, call.number(x[i], c.sums), edges, bins, low, high)
    if bin >= 0 then f(bin) end
  end
end

-- c: is_float, sums (the type to compare in), bins (of shared memory, or nil).
local function make(c)
  return kernel("histogram", function(x, counts, edges, bins, low, high)
    if not c.bins then
      each_bin(c, x, edges, bins, low, high, function(bin) atomic_add(counts, bin, 1) end)
    else
      local mine = shared(i32, c.bins)
      for i in range(threadIdx.x, bins, THREADS) do mine[i] = 0 end
      sync_threads()
      each_bin(c, x, edges, bins, low, high, function(bin) atomic_add(mine, bin, 1) end)
      sync_threads()
      for i in range(threadIdx.x, bins, THREADS) do
        if mine[i] ~= 0 then atomic_add(counts, i, cast(mine[i], counts.dtype)) end
      end
    end
  end)
end

-- {====== Calls ======

local kernel_of = memo.by_fields({ "sums", "bins" }, make)

local function check_even(bins, low, high, sums)
  local above = (sums == f64 or not sums.is_float) and math.huge or 0x1p128 -- of all distances
  local is_range = type(low) == "number" and type(high) == "number" and low < high
    and high - low < above
  if math.type(bins) ~= "integer" or bins < 1 or bins >= 1 << 31 then
    call.fail(op, "bins is %s; expected a number of even bins, or a tensor of their edges",
      tostring(bins))
  elseif not is_range then
    call.fail(op, "low is %s and high is %s; expected the numbers between which the bins are, the "
      .. "lower one first, and a finite distance", tostring(low), tostring(high))
  end
end

-- Edges in the type to compare in; how many bins.
local function read_bins(x, bins, low, high, sums)
  if type(bins) == "number" or bins == nil then
    check_even(bins, low, high, sums)
    if not sums.is_float and (math.type(low) ~= "integer" or math.type(high) ~= "integer") then
      call.fail(op, "low is %s and high is %s, but x is %s; expected integers", low, high,
        x.tensor.dtype)
    end
    return nil, bins
  end
  local edges = call.vector(op, bins, "edges", x, { sums })
  if edges.n < 2 then call.fail(op, "edges has %d elements; expected at least 2", edges.n) end
  return edges, edges.n - 1
end

--- histogram(x, bins, low, high[, options]) or histogram(x, edges[, options]) -> counts, i32
M.histogram = call.define(op, 4, {}, "{out = counts}", function(options, given, bins, low, high)
  local x = call.whole(op, given, "x")
  local sums = call.type_of_sums(x.tensor.dtype)
  local edges, n_bins = read_bins(x, bins, low, high, sums)
  local found, tensors = call.results(op, options, x,
    { { dtype = x.n < 1 << 31 and i32 or i64, shape = { n_bins }, only = true } }, { x, edges })
  local steps = { call.clear(found[1].flat) }
  if x.n == 0 then return steps, tensors end
  local c = { sums = sums, is_float = sums.is_float }
  if n_bins <= SHARED_BINS then c.bins = max(32, 1 << math.ceil(math.log(n_bins, 2))) end
  local typed = sums.is_float and sums or i64
  steps[2] = { kernel = kernel_of(c),
    args = { n = 6, x.flat, found[1].flat, edges and edges.flat, n_bins,
      not edges and typed(low) or nil, not edges and typed(high) or nil },
    launch = { grid = min(BLOCKS, cdiv(x.n, THREADS * ITEMS)), block = THREADS } }
  return steps, tensors
end)

return M
