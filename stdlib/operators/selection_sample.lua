-- selection_sample.lua: a random column of each row, by its probabilities, among the most probable
-- ones: the first k, the least set with a probability of p, those not too far below the largest.
-- A kernel finds the last element that may be drawn, a row_kernel draws.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local numbers = require "cuttle.selection_keys"
local top = require "cuttle.selection_top"
local M = {}

local op <const> = "sample"
local float_types <const> = { f16, bf16, f32, f64 }
local ONE <const> = 2.0 ^ 30 -- the weight of the most probable element: sums are exact integers

-- {====== The last element that may be drawn ======

local BITS <const> = 11
local DIGITS <const> = 1 << BITS

-- The largest element that is a number.
local function largest_of(row, threads)
  local most = f32(-math.huge)
  for i in range(threadIdx.x, row.columns, threads, { unroll = 4 }) do
    most = max(most, cast(row.x[row.first + i], f32))
  end
  return block_reduce(most, "max")
end

-- The digit at which the weights, from the highest element on, reach `need`; the weight before it.
local function find_weight(weights, need, threads)
  local digit, weight = shared(i32, 1), shared(u64, 1)
  local each = DIGITS // threads
  local first, own = threadIdx.x * each, u64(0)
  for i = 0, each - 1 do own = own + weights[first + i] end
  local before = block_scan(own, "add", { exclusive = true, init = u64(0) })
  if before < need and need <= before + own then
    local at = first
    while before + weights[at] < need do
      before = before + weights[at]
      at = at + 1
    end
    digit[0], weight[0] = at, before
  end
  sync_threads()
  return digit[0], weight[0]
end

-- The number of the last element of the least set whose probability is p, of those up to `cut`.
local function cut_by_weight(c, row, cut, p, temperature)
  local weights, most = shared(u64, DIGITS), largest_of(row, c.threads)
  local low, prefix, need = i32(32), u32(0), u64(0)
  while low > 0 do
    local bits = min(low, BITS)
    for i in range(threadIdx.x, DIGITS, c.threads) do weights[i] = 0 end
    sync_threads()
    for i in range(threadIdx.x, row.columns, c.threads, { unroll = 4 }) do
      local v = cast(row.x[row.first + i], f32)
      local number = numbers.number(v, true)
      if v == v and number <= cut and number >> low == prefix then
        local digit = number >> low - bits & (u32(1) << bits) - 1
        local weight = cast(exp((v - most) / temperature) * ONE, u64)
        atomic_add(weights, cast(digit, i32), weight)
      end
    end
    sync_threads()
    if low == 32 then
      local own = u64(0)
      for i in range(threadIdx.x, DIGITS, c.threads) do own = own + weights[i] end
      local total = block_reduce(own, "add")
      need = max(cast(ceil(cast(total, f64) * cast(p, f64)), u64), u64(1))
    end
    local digit, before = find_weight(weights, need, c.threads)
    low, prefix, need = low - bits, prefix << bits | cast(digit, u32), need - before
  end
  return prefix
end

-- c: threads, has_k, has_p, and of row elements what top.narrow asks.
local function make(c)
  return kernel("sample_cut", function(x, cuts, columns, k, p, temperature)
    local row = { x = x, columns = columns, first = call.like(blockIdx.x, size(x)) * columns }
    local cut = ~u32(0)
    if c.has_k then
      local _, prefix = top.narrow(c, row, k)
      cut = prefix
    end
    if c.has_p then cut = cut_by_weight(c, row, cut, p, temperature) end
    if threadIdx.x == 0 then cuts[blockIdx.x] = cut end
  end)
end

-- {====== The draw ======

local draw_all = row_kernel("sample", function(row, x, temperature, log2_min_p, seed)
  local u = row:keep_once(choices.uniform(row, seed))
  return row:once(choices.draw(row, x, u, temperature, log2_min_p))
end, { types = { i32 } })

local draw = row_kernel("sample_up_to_cut", function(row, x, cut, temperature, log2_min_p, seed)
  local u = row:keep_once(choices.uniform(row, seed))
  local may_be = numbers.number(cast(x, f32), true) <= cut
  return row:once(choices.draw(row, x, u, temperature, log2_min_p, may_be))
end, { types = { i32 } })

-- {====== Calls ======

local made = {}

local function kernel_of(x, k, p)
  local threads = x.columns >= 16384 and 1024 or 256
  local width = top.width(x.tensor.dtype, x.columns)
  local key = ("%d %s %s %d"):format(threads, k ~= nil, p ~= nil, width)
  made[key] = made[key] or make { threads = threads, has_k = k ~= nil, has_p = p ~= nil,
    dtype = f32, largest = true, nan_last = true, capacity = 0, width = width }
  return made[key], threads
end

local function number_between(name, v, otherwise, low, high)
  if v == nil then return otherwise end
  if type(v) ~= "number" or not (v > low and v <= high) then
    call.fail(op, "%s is %s; expected a number above %g, at most %g", name, tostring(v), low, high)
  end
  return v + 0.0
end

local function read_options(x, o)
  local k = o.top_k
  if k ~= nil and (math.type(k) ~= "integer" or k < 1) then
    call.fail(op, "top_k is %s; expected an integer from 1 on", tostring(k))
  end
  if o.seed ~= nil and math.type(o.seed) ~= "integer" then
    call.fail(op, "seed is %s; expected an integer", tostring(o.seed))
  end
  return { k = k and k < x.columns and k or nil, p = number_between("top_p", o.top_p, nil, 0, 1),
    temperature = number_between("temperature", o.temperature, 1.0, 0, 1e30),
    min_p = number_between("min_p", o.min_p, nil, 0, 1), seed = o.seed or 0 }
end

--- sample(x[, options]) -> a column of each row, i32, drawn with the probabilities softmax(x /
--- temperature) of the elements that the options leave
M.sample = call.define(op, 1, { "min_p", "seed", "temperature", "top_k", "top_p" }, "{top_p = 0.9}",
  function(options, given)
    local x = call.whole(op, given, "x")
    call.check_type(op, x, float_types)
    local o = read_options(x, options)
    local extent = table.move(x.extent, 1, #x.extent, 1, {})
    extent[math.max(#extent, 1)] = 1
    local found, tensors = call.results(op, options, x,
      { { dtype = i32, shape = extent, only = true } }, { x })
    if x.n == 0 then return {}, tensors end
    local steps, logits = {}, view(x.flat, row_major { x.n_rows, x.columns })
    local log2_min_p = o.min_p and math.log(o.min_p, 2) or -math.huge
    local to = { out = view(found[1].flat, row_major { x.n_rows, 1 }) }
    local draws
    if o.k or o.p then
      local cuts = call.work(x, u32, x.n_rows)
      local k, threads = kernel_of(x, o.k, o.p)
      steps[1] = { kernel = k, launch = { grid = x.n_rows, block = threads },
        args = { n = 6, x.flat, cuts, x.columns, o.k, o.p and f32(o.p), f32(o.temperature) } }
      draws = draw:steps(logits, view(cuts, row_major { x.n_rows, 1 }), o.temperature, log2_min_p,
        o.seed, to)
    else
      draws = draw_all:steps(logits, o.temperature, log2_min_p, o.seed, to)
    end
    table.move(draws, 1, #draws, #steps + 1, steps)
    return steps, tensors
  end)

return M
