-- selection_sample.lua: a random column of each row, by its probabilities, among the most probable
-- ones: the first k, the least set with a probability of p, those not too far below the largest.
-- Weights are integers, so their sums do not depend on an order. If few elements may be among the
-- first k, a block draws from a list of these. Otherwise passes over the row find the last element
-- that may be drawn, and draw. Without k and p, a row_kernel draws.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local draws = require "cuttle.selection_draw"
local memo = require "cuttle.memo"
local numbers = require "cuttle.selection_keys"
local options = require "cuttle.selection_options"
local top = require "cuttle.selection_top"
local vectors = require "cuttle.selection_vectors"
local M = {}

local op <const>, uses <const> = "sample", options.uses
local float_types <const> = { f16, bf16, f32, f64 }
local ONE <const> = 2.0 ^ 30 -- the weight of the most probable element

-- What an element weighs beside `most`, the largest one; 0 if it is not drawn.
local function weight_of(d, v, most)
  local part = exp((v - most) * d.scale)
  local may_be = v > -math.huge
  if d.has_min then may_be = may_be and part >= d.min_p end
  return where(may_be, cast(part * ONE + 0.5, u32), u32(0))
end

-- The sum of the least set of weights with the probability p.
local function needed(total, p)
  return max(cast(ceil(cast(total, f64) * cast(p, f64)), u64), u64(1))
end

-- {====== The last element that may be drawn ======

local BITS <const> = 11
local DIGITS <const> = 1 << BITS

-- Sums of 64 bits as two halves, as atomic operations on shared memory have 32. Neighbouring lanes
-- add to different copies, c.copies, because many elements of a row have the same digit.

local function add_weight(sums, digit, weight)
  local at = { threadIdx.x % size(sums.low, 0), digit }
  local before = atomic_add(sums.low, at, weight)
  if before > ~weight then atomic_add(sums.high, at, 1) end
end

local function sum_of(sums, digit)
  local all = u64(0)
  for i = 0, size(sums.low, 0) - 1 do
    all = all + (cast(sums.high[{ i, digit }], u64) << 32 | cast(sums.low[{ i, digit }], u64))
  end
  return all
end

local function clear_weights(c, sums)
  for i in range(threadIdx.x, size(sums.low), c.threads) do sums.low[i], sums.high[i] = 0, 0 end
  sync_threads()
end

-- The weight of the digits that a thread has.
local function own_weight(c, sums)
  local each, all = DIGITS // c.threads, u64(0)
  for i = 0, each - 1 do all = all + sum_of(sums, threadIdx.x * each + i) end
  return all
end

-- The digit at which the weights, from the highest element on, reach `need`; the weight before it.
local function find_weight(c, sums, own, need)
  local digit, weight = shared(i32, 1), shared(u64, 1)
  local before = block_scan(own, "add", { exclusive = true, init = u64(0) })
  if before < need and need <= before + own then
    local at = cast(threadIdx.x * (DIGITS // c.threads), i32)
    while before + sum_of(sums, at) < need do
      before = before + sum_of(sums, at)
      at = at + 1
    end
    digit[0], weight[0] = at, before
  end
  sync_threads()
  return digit[0], weight[0]
end

-- The number of the last element of the least set whose probability is p, of those up to `cut`.
local function cut_by_weight(c, row, d, cut, most)
  local sums = { low = shared(u32, { c.copies, DIGITS }), high = shared(u32, { c.copies, DIGITS }) }
  local low, prefix, need, all = i32(32), u32(0), u64(0), { scale = d.scale }
  while low > c.least do
    local bits = min(low, BITS)
    clear_weights(c, sums)
    top.each_element(c, row, function(_, number, element)
      if number <= cut and number >> low == prefix then
        local digit = number >> low - bits & (u32(1) << bits) - 1
        add_weight(sums, cast(digit, i32), weight_of(all, cast(element, f32), most))
      end
    end)
    sync_threads()
    local own = own_weight(c, sums)
    if low == 32 then need = needed(block_reduce(own, "add"), d.p) end
    local digit, before = find_weight(c, sums, own, need)
    low, prefix, need = low - bits, prefix << bits | cast(digit, u32), need - before
  end
  return top.last_with(low, prefix)
end

-- {====== A list of what may be among the first k ======

-- f(i, v) of each element of the row that a thread has, as an f32.
local function each_value(c, row, f)
  local first = row.first // c.width
  for at in range(threadIdx.x, row.columns // c.width, c.threads, { unroll = 4 }) do
    local now = fragment(row.x.dtype, c.width)
    copy(tile(row.x, { c.width }, { first + at }), now)
    for e = 0, c.width - 1 do f(at * c.width + e, cast(now[e], f32)) end
  end
end

-- The largest element of a thread's that is a number.
local function own_largest(c, row)
  local most = fragment(f32, 1)
  most[0] = -math.huge
  each_value(c, row, function(_, v) most[0] = max(most[0], v) end)
  return most[0]
end

-- The f32 of a number of a descending order.
local function value_of(number)
  local bits, sign = ~number, u32(0x80000000)
  return bitcast(where(bits & sign ~= 0, bits ~ sign, ~bits), f32)
end

-- What the k-th largest of the groups' largest elements is: at least k elements are no less.
local function limit_of(c, own, k)
  local mine = fragment(u32, 1)
  mine[0] = numbers.number(own, true)
  return value_of(top.limit_of(c, mine, k))
end

-- Puts an element into the list, and notes the number of the largest one. The list has keys: a
-- number and, below it, the column.
local function put(list, v, column)
  local number = numbers.number(v, true)
  atomic_min(list.best, 0, number)
  local at = atomic_add(list.count, 0, 1)
  if at < size(list.keys) then list.keys[at] = cast(number, u64) << 32 | cast(column, u64) end
end

-- Puts the first k elements, all that equal the last of these, and some others into the list, and
-- returns how many there are, perhaps more than it holds. NaN is passed over.
local function take_by_values(c, row, list, k)
  local own = own_largest(c, row)
  local limit = limit_of(c, own, k)
  if own >= limit then
    each_value(c, row, function(i, v)
      if v >= limit then put(list, v, i) end
    end)
  end
  sync_threads()
  return list.count[0]
end

-- Vectors that have such elements, in shared memory.
local function new_near(c, row)
  return { count = shared(i32, 1), numbers = shared(i32, c.capacity),
    vectors = shared(row.x.dtype, { c.width, c.capacity }) }
end

local function keep_near(c, near, v, number)
  local place = atomic_add(near.count, 0, 1)
  if place < c.capacity then
    near.numbers[place] = number
    copy(v, near.vectors(_, place))
  end
end

-- The largest elements of the vectors of the first batches, to shared memory.
local function read_early(c, row, largest, own)
  for b in range(c.early) do
    vectors.batch(c, row, b).each(function(i, _, _, most)
      own[0] = max(own[0], most)
      largest[{ threadIdx.x, i, b }] = cast(most, largest.dtype)
    end)
  end
end

-- Reads the vectors of the first batches again that have an element from the limit on: they come
-- by cp.async, and nobody waits for them.
local function keep_early(c, row, largest, near, limit)
  for b in range(c.early) do
    for i in range(size(largest, 1)) do
      if cast(largest[{ threadIdx.x, i, b }], f32) >= limit then
        local number = vectors.number_of(c, b, i)
        keep_near(c, near, tile(row.x, { c.width }, { row.start + number }), number)
      end
    end
  end
end

-- The same of long rows, which are read once. The first half of the row, vectors from all of it,
-- tells how large an element may be, and that is found while the second half is on its way.
local function take_by_vectors(c, row, list, k)
  local near, own, largest = new_near(c, row), fragment(f32, 1), nil
  own[0] = -math.huge
  if threadIdx.x == 0 then near.count[0] = 0 end
  if c.early > 0 then
    largest = shared(row.x.dtype, { c.threads, vectors.BATCH, c.early })
    read_early(c, row, largest, own)
  end
  local batch = vectors.batch(c, row, c.early)
  if c.early == 0 then batch.each(function(_, _, _, most) own[0] = max(own[0], most) end) end
  local limit = limit_of(c, own[0], k)
  local function keep(_, v, number, most)
    if most >= limit then keep_near(c, near, v, number) end
  end
  if c.early > 0 then
    if own[0] >= limit then keep_early(c, row, largest, near, limit) end
    cp_async_commit()
  end
  batch.each(keep)
  for b in range(c.early + 1, vectors.batches(c)) do vectors.batch(c, row, b).each(keep) end
  cp_async_wait(0)
  sync_threads()
  for i in range(threadIdx.x, min(near.count[0], c.capacity) * c.width, c.threads) do
    local v = cast(near.vectors[{ i % c.width, i // c.width }], f32)
    if v >= limit then put(list, v, near.numbers[i // c.width] * c.width + i % c.width) end
  end
  sync_threads()
  return where(near.count[0] > c.capacity, c.capacity + 1, list.count[0])
end

-- {====== The draw ======

local WARP <const> = 32

-- The weight of the row at which the draw is. Without weights it is beyond them all.
local function goal_of(total, u)
  return min(cast(u * cast(total, f64), u64), max(total, u64(1)) - 1)
end

-- Draws from the whole row.
local function draw_from_row(c, row, d, k)
  local cut, most = ~u32(0), block_reduce(own_largest(c, row), "max")
  if c.has_k then
    local exactly = setmetatable({ capacity = 0 }, { __index = c }) -- a list may hold more than k
    local low, prefix = top.narrow(exactly, row, k)
    cut = top.last_with(low, prefix)
  end
  if c.has_p then cut = cut_by_weight(c, row, d, cut, most) end
  local own = fragment(u64, 2) -- the thread's weights; those up to an element
  clear(own)
  local function each(f)
    top.each_element(c, row, function(i, number, element)
      if number <= cut then f(i, cast(weight_of(d, cast(element, f32), most), u64)) end
    end)
  end
  each(function(_, weight) own[0] = own[0] + weight end)
  local before, total = block_scan(own[0], "add", { exclusive = true, init = u64(0) })
  local at = goal_of(total, d.uniform())
  if before <= at and at < before + own[0] then
    own[1] = before
    each(function(i, weight)
      if own[1] <= at and at < own[1] + weight then d.out[blockIdx.x] = i end
      own[1] = own[1] + weight
    end)
  end
end

local function number_of(key) return cast(key >> 32, u32) end

-- The list's keys in order, and their weights beside the largest: none after the n-th.
local function sorted_list(c, d, list, n)
  local sorted = { keys = shared(u64, c.capacity), weights = shared(u32, c.capacity) }
  local lanes, t, n_before = c.threads // c.capacity, threadIdx.x, i32(0)
  local at = t // lanes
  local key = list.keys[min(at, n - 1)]
  if t // WARP * (WARP // lanes) < n then -- the warp has one of them
    for i in range(t % lanes, n, lanes, { unroll = 8 }) do
      n_before = n_before + where(list.keys[i] < key, 1, 0)
    end
    n_before = warp_reduce(n_before, "add", lanes)
  end
  if t % lanes == 0 then
    local place, v = where(at < n, n_before, at), value_of(number_of(key))
    sorted.keys[place] = key
    local weight = weight_of({ scale = d.scale }, v, value_of(list.best[0]))
    sorted.weights[place] = where(at < n, weight, u32(0))
  end
  sync_threads()
  return sorted
end

-- A lane's part of a sorted list: numbers and weights, from 0 to n - 1, the first one's place.
local function part_of(c, sorted)
  local n = c.capacity // WARP
  local part = { n = n, first = threadIdx.x * n, numbers = {}, weights = fragment(u32, n) }
  copy(tile(sorted.weights, { n }, { threadIdx.x }), part.weights)
  for e = 0, n - 1 do part.numbers[e] = number_of(sorted.keys[part.first + e]) end
  return part
end

-- Leaves the weights for which is_in(e), and adds up: part.before of other lanes, part.total.
local function keep_only(part, is_in)
  local own = u64(0)
  for e = 0, part.n - 1 do
    part.weights[e] = where(is_in(e), part.weights[e], u32(0))
    own = own + cast(part.weights[e], u64)
  end
  local up_to = warp_scan(own, "add")
  part.before, part.total = up_to - own, shfl_idx(up_to, WARP - 1)
end

-- f(e, low, high) of a lane's weights: the sums of the list without the e-th one and with it.
local function each_sum(part, f)
  local low = part.before
  for e = 0, part.n - 1 do
    local high = low + cast(part.weights[e], u64)
    f(e, low, high)
    low = high
  end
end

-- The number of the last element of the least set with the probability p.
local function last_of_set(part, p)
  local need, last = needed(part.total, p), ~u32(0)
  each_sum(part, function(e, low, high)
    last = where(low < need and need <= high, part.numbers[e], last)
  end)
  return warp_reduce(last, "min")
end

-- Draws from a list of n > 0 elements, in any order. The first k elements that are numbers and all
-- that equal the last of these are among them.
local function draw_from_list(c, d, list, n, k)
  local sorted = sorted_list(c, d, list, n)
  if threadIdx.x < WARP then
    local part, last = part_of(c, sorted), number_of(sorted.keys[min(k, n) - 1])
    keep_only(part, function(e) return part.first + e < k or part.numbers[e] == last end)
    if c.has_p then
      local last_in = last_of_set(part, d.p)
      keep_only(part, function(e) return part.numbers[e] <= last_in end)
    end
    if c.has_min then
      local best = value_of(list.best[0])
      keep_only(part, function(e) return weight_of(d, value_of(part.numbers[e]), best) > 0 end)
    end
    local at = goal_of(part.total, d.uniform())
    each_sum(part, function(e, low, high)
      if low <= at and at < high then
        d.out[blockIdx.x] = cast(sorted.keys[part.first + e] & 0xffffffff, i32)
      end
    end)
  end
end

-- c: threads, capacity (of a list, at most one element for each thread), has_k, has_p, has_min,
-- least (low bits of numbers in which elements do not differ), copies (of sums), groups (of
-- threads, nil: no list), n (vectors of a long row, nil), most (of the rows' k, the largest for
-- which there is a list; nil: k is a number, and has one), and what top.narrow asks.
local function make(c)
  local take = c.n and take_by_vectors or take_by_values
  return kernel("sample", function(x, out, columns, k, p, scale, min_p, seed)
    grid_dependency_wait()
    p, min_p = options.own(p, uses.itself), options.own(min_p, uses.itself)
    k, scale = options.own_k(k, columns), options.own(scale, uses.scale)
    local row = { x = x, columns = columns, first = call.like(blockIdx.x, size(x)) * columns,
      start = c.n and call.like(blockIdx.x, size(x)) * c.n }
    local d = { out = out, p = p, scale = scale, min_p = min_p, has_min = c.has_min,
      uniform = function()
        local own, number = options.own_seed(seed)
        return choices.uniform({ index = function() return number end }, own)
      end }
    if threadIdx.x == 0 then out[blockIdx.x] = 0 end -- of a row without any weight
    if not c.groups then
      draw_from_row(c, row, d, k)
    else
      local list = { keys = shared(u64, c.capacity), count = shared(i32, 1),
        best = shared(u32, 1) }
      if threadIdx.x == 0 then list.count[0], list.best[0] = 0, ~u32(0) end -- till limit_of meets
      local n = i32(c.capacity + 1)
      if c.most then
        if k <= c.most then n = take(c, row, list, k) end
      else
        n = take(c, row, list, k)
      end
      if n > 0 and n <= c.capacity then
        draw_from_list(c, d, list, n, k)
      else
        draw_from_row(c, row, d, k)
      end
    end
  end)
end

local function drawn(row, x, temperature, seed, log2_min_p)
  local u = row:keep_once(choices.uniform(row, seed))
  return row:once(choices.draw(row, x, u, temperature, log2_min_p))
end

local draw_all = row_kernel("sample", function(row, x, temperature, seed)
  return drawn(row, x, temperature, seed)
end, { types = { i32 } })
local draw_above = row_kernel("sample", drawn, { types = { i32 } })

-- {====== Calls ======

local made = memo.by_fields({ "threads", "has_k", "has_p", "has_min", "width", "least", "copies",
  "groups", "n", "capacity", "most" }, make)

local CAPACITY <const>, FEW <const> = 256, 64 -- of a list; k for which it is enough in long rows
local MANY <const> = 128 -- the largest k for which there are lists
local LONG <const> = 16384 -- columns from which blocks are larger

local function kernel_of(x, o)
  local k = o.top_k
  local c = { threads = x.columns >= LONG and 1024 or 256, has_k = k ~= nil, has_p = o.top_p ~= nil,
    has_min = o.min_p ~= nil, dtype = f32, largest = true, nan_last = true, capacity = 0,
    width = top.width(x.tensor.dtype, x.columns), least = x.tensor.dtype.bytes == 2 and 10 or 0,
    copies = call.target(x).shared >= 98304 and 4 or 1 }
  if options.is_of_rows(k) then k = MANY end
  if k then c.groups = top.groups_for(c, x.columns, k) end
  if c.groups then c.n = select(2, vectors.of_rows(x)) end
  if c.n then
    local n = vectors.batches(c)
    c.early = n > 1 and cdiv(n, 2) or 0
  end
  if c.groups then -- a limit of half of a row lets twice as many through
    c.capacity, c.unroll = c.n and k > FEW and 2 * CAPACITY or CAPACITY, 1
    c.most = options.is_of_rows(o.top_k) and MANY or nil
  end
  return made(c), c.threads
end

-- One kernel for all options that are given.
local function step_of(x, out, o)
  local k, threads = kernel_of(x, o)
  return { kernel = k, launch = { grid = x.n_rows, block = threads, pdl = true },
    args = { n = 8, x.flat, out, x.columns, o.top_k, options.argument(o.top_p, uses.itself),
      options.argument(o.temperature, uses.scale), options.argument(o.min_p, uses.itself),
      o.seed } }
end

--- sample(x[, options]) -> a column of each row, i32, drawn with the probabilities softmax(x /
--- temperature) of the elements that the options leave
M.sample = call.define(op, 1, { "min_p", "seed", "temperature", "top_k", "top_p" }, "{top_p = 0.9}",
  function(asked, given)
    local x = call.whole(op, given, "x")
    call.check_type(op, x, float_types)
    local o = options.read(x, asked)
    local extent = table.move(x.extent, 1, #x.extent, 1, {})
    extent[math.max(#extent, 1)] = 1
    local found, tensors = call.results(op, asked, x,
      { { dtype = i32, shape = extent, only = true } }, { x, table.unpack(o.tensors) })
    if x.n == 0 then return {}, tensors end
    local by_proposals = not o.top_k and draws.step(x, found[1].flat, o)
    if by_proposals then return { by_proposals }, tensors end
    if o.top_k or o.top_p or #o.tensors > 0 then
      return { step_of(x, found[1].flat, o) }, tensors
    end
    local x_rows = view(x.flat, row_major { x.n_rows, x.columns })
    local result = { out = view(found[1].flat, row_major { x.n_rows, 1 }) }
    if not o.min_p then return draw_all:steps(x_rows, o.temperature, o.seed, result), tensors end
    return draw_above:steps(x_rows, o.temperature, o.seed, math.log(o.min_p, 2), result), tensors
  end)

return M
