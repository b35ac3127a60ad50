-- selection_draw.lua: a random column of each row among all of them, the least set with a
-- probability of p, or those that are not too far below the largest. A block reads a row once. It
-- keeps the largest element of each vector in shared memory, and adds up what vectors would weigh
-- if all of their elements were the largest. Then some threads propose a column each: a vector by
-- that sum, and one of its elements, which is taken with the probability of the element's weight
-- beside that of the largest one. So columns are taken by their own weights, and the first one that
-- is taken is the row's result. For the least set, some are taken, and counts of the row's values
-- (selection_counts.lua) or another read of the row find which of them are in it.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local counts = require "cuttle.selection_counts"
local memo = require "cuttle.memo"
local vectors = require "cuttle.selection_vectors"
local M = {}

local WARP <const>, THREADS <const> = 32, 1024
local WARPS <const> = THREADS // WARP
local FEW <const>, MANY <const> = 128, 256 -- threads, of which some propose what may be drawn

-- {====== Reading the row ======

-- The largest elements of the row's vectors, to shared memory; the sum of what the thread's vectors
-- would weigh if all of their elements were the largest; and the row's largest element.
local function read_row(c, row, d)
  local base, sum = cast(-math.huge, f32), cast(0, f32)
  vectors.keep_largest(c, row, row.largest, function(most)
    base, sum = d.by.add_vector(base, sum, most)
  end)
  local top = block_reduce(base, "max")
  return d.by.moved({ sum }, { base }, { top })[1], top
end

-- The same sum of vectors whose largest element may be drawn.
local function add_up(c, row, d, top)
  local own = cast(0, f32)
  for v in range(threadIdx.x, c.n, THREADS, { unroll = 4 }) do
    own = own + d.of_vector(cast(row.largest[v], f32), top)
  end
  return own
end

-- {====== Proposals ======

-- The first thread whose sum, of those up to its own, is above the goal.
local function thread_of(sums, goal)
  local low, step = i32(0), THREADS // 2
  while step > 0 do
    low = low + where(sums[low + step - 1] <= goal, step, 0)
    step = step // 2
  end
  return low
end

-- The thread's vector at which its weights reach `rest`, and the weight of its largest element.
local function vector_of(c, row, d, top, t, rest)
  local at, weight, left = i32(-1), cast(0, f32), rest
  for v in range(t, c.n, THREADS, { unroll = 4 }) do
    local own = d.of_vector(cast(row.largest[v], f32), top)
    if left >= 0.0 and own > 0.0 then at, weight = v, own end
    left = left - cast(own, f64)
  end
  return at, weight
end

-- {column, value, takes} that the thread proposes, the number-th proposal of the row: `takes`: it
-- takes the column.
local function propose(c, row, d, top, number)
  local a, b, which, chance = rand_u32x4(d.seed, cast(blockIdx.x, i64) << 32 | cast(number, i64))
  local goal = choices.unit(a, b) * row.sums[THREADS - 1]
  local t = thread_of(row.sums, goal)
  local before = where(t > 0, row.sums[max(t - 1, 0)], 0.0)
  local at, most = vector_of(c, row, d, top, t, goal - before)
  local column = max(at, 0) * c.width + cast(which & c.width - 1, i32)
  local value = cast(row.x[row.start * c.width + column], f32)
  local takes = at >= 0 and cast(chance >> 8, f32) * 2.0 ^ -24 * most < d.weight(value, top)
  return { column = column, value = value, takes = takes }
end

-- The column of the first proposal that is taken, -1: none. Threads make n proposals at a time,
-- from that number on: once, or until one is taken or there is no weight.
local function first_taken(c, row, d, top, own, n, number, is_once)
  row.sums[threadIdx.x] = block_scan(cast(own, f64), "add")
  if threadIdx.x == 0 then row.taken.first[0] = n end
  sync_threads()
  local column, goes_on = i32(-1), row.sums[THREADS - 1] > 0.0
  while goes_on do
    if threadIdx.x < n then
      local mine = propose(c, row, d, top, number + threadIdx.x)
      row.taken.columns[threadIdx.x] = mine.column
      if mine.takes then atomic_min(row.taken.first, 0, cast(threadIdx.x, i32)) end
    end
    sync_threads()
    local first = row.taken.first[0]
    sync_threads() -- all have read it
    if first < n then column = row.taken.columns[first] end
    number, goes_on = number + n, first == n and not is_once
  end
  return column
end

-- The row's column among all, or among those that are not too far below the largest: they are
-- likely to be among many proposals, so the weights of others are left out only if they are not.
local function draw_one(c, row, d, top, own)
  if not c.has_min then return first_taken(c, row, d, top, own, WARP, i32(0), false) end
  local column = first_taken(c, row, d, top, own, c.proposers, i32(0), true)
  if column < 0 then
    local few = setmetatable({ of_vector = d.weight }, { __index = d })
    own = add_up(c, row, few, top)
    column = first_taken(c, row, few, top, own, WARP, i32(c.proposers), false)
  end
  return column
end

-- A warp puts the first of the proposals that is taken, then the first one with a larger value, and
-- so on, at most c.most, into row.chosen.
local function find_larger(c, row)
  local taken, chosen, above, n = row.taken, row.chosen, cast(-math.huge, f32), i32(0)
  local own, each = {}, c.proposers // WARP
  for i = 0, each - 1 do own[i] = taken.values[threadIdx.x + i * WARP] end
  for i = 0, c.most - 1 do
    local first = i32(c.proposers)
    for j = each - 1, 0, -1 do
      first = where(own[j] > above, cast(threadIdx.x + j * WARP, i32), first)
    end
    first = warp_reduce(first, "min")
    if first < c.proposers then
      above, n = taken.values[first], i + 1
      if threadIdx.x == 0 then chosen.columns[i], chosen.values[i] = taken.columns[first], above end
    end
  end
  if threadIdx.x == 0 then chosen.count[0] = n end
end

-- Chooses some columns, of the first proposals of which any is taken; none if nothing can be drawn.
-- Their count is 0 before. `number` is that of the first proposal; returns the next one.
local function choose(c, row, d, top, number)
  local goes_on = row.sums[THREADS - 1] > 0.0
  while goes_on do
    if threadIdx.x < c.proposers then
      local mine = propose(c, row, d, top, number + threadIdx.x)
      row.taken.columns[threadIdx.x] = mine.column
      row.taken.values[threadIdx.x] = where(mine.takes, mine.value, -math.huge)
    end
    sync_threads()
    if threadIdx.x < WARP then find_larger(c, row) end
    sync_threads()
    number, goes_on = number + c.proposers, row.chosen.count[0] == 0
  end
  return number
end

-- {====== The least set with the probability p ======

-- The taken values, from 1 on.
local function chosen_values(c, row)
  local values = {}
  for i = 1, c.most do values[i] = row.chosen.values[i - 1] end
  return values
end

local UNSURE <const> = -2

-- The block's sums of what its threads have, of each field from 0 to n: through shared memory, as
-- shuffles of all warps would take longer.
local function added(n, own)
  local parts, all = shared(f32, { THREADS, n + 1 }), shared(f32, n + 1)
  for i = 0, n do parts[{ threadIdx.x, i }] = own[i] end
  sync_threads()
  local which, lane = threadIdx.x // WARP, threadIdx.x % WARP
  if which <= n then
    local sums = {}
    for i = 0, WARPS - 1 do
      local more = parts[{ i * WARP + lane, which }]
      sums[i % 4] = i < 4 and more or sums[i % 4] + more
    end
    local sum = warp_reduce(sums[0] + sums[1] + (sums[2] + sums[3]), "add")
    if lane == 0 then all[which] = sum end
  end
  sync_threads()
  local sums = {}
  for i = 0, n do sums[i] = cast(all[i], f64) end
  return sums
end

-- What first_within returns, by the counts of values; UNSURE: they do not tell.
local function first_by_counts(c, row, d, top, p)
  local values = chosen_values(c, row)
  local sums, doubts = counts.weights_above(c, row.counts, d, top, values)
  sums[c.most + 1] = doubts
  local all, part, found = added(c.most + 1, sums), cast(p, f64), i32(-1)
  local doubt = all[c.most + 1]
  for i = c.most, 1, -1 do
    local is_in = all[i] + doubt < (all[0] - doubt) * part
    local is_out = all[i] - doubt >= (all[0] + doubt) * part
    local here = where(is_in, i32(i - 1), where(is_out, found, UNSURE))
    found = where(i <= row.chosen.count[0], where(counts.is_unsure(values[i]), UNSURE, here), found)
  end
  return found
end

-- The number of the first taken element above which there is less than p of all weights; -1: none.
local function first_within(c, row, d, top, p)
  local zero, values = cast(0, f32), chosen_values(c, row)
  local sums = { [0] = zero } -- of all elements; of those above each value
  for i = 1, c.most do sums[i] = zero end
  vectors.each_batch(c, row, function(at, now, last)
    for i = 0, last do
      for e = 0, c.width - 1 do
        local v = cast(now[{ e, i }], f32)
        local w = d.by.power_below(v, top)
        if vectors.is_in(c, at[i]) ~= true then w = where(at[i] < c.n, w, 0.0) end
        sums[0] = sums[0] + w
        for j = 1, c.most do sums[j] = fma(w, where(v > values[j], f32(1), 0.0), sums[j]) end
      end
    end
  end)
  local all = {}
  for i = 0, c.most do all[i] = block_reduce(cast(sums[i], f64), "add") end
  local found = i32(-1)
  for i = c.most, 1, -1 do
    local is_within = all[i] < all[0] * cast(p, f64) and i <= row.chosen.count[0]
    found = where(is_within, i - 1, found)
  end
  return found
end

-- The row's column. What is not larger than an element outside of the least set is not in it
-- either, so the first taken one of the set is among those that are larger than all before them.
local function draw_within(c, row, d, top, p, own)
  d.of_vector = d.weight
  if c.has_min then own = add_up(c, row, d, top) end
  local column, number, goes_on = i32(0), i32(0), true
  while goes_on do
    row.sums[threadIdx.x] = block_scan(cast(own, f64), "add")
    if threadIdx.x == 0 then row.chosen.count[0] = 0 end
    sync_threads()
    number = choose(c, row, d, top, number)
    local n = row.chosen.count[0]
    goes_on = n > 0
    if goes_on then
      local found = i32(0) -- nothing is above the largest element
      if row.chosen.values[0] < top then
        found = row.counts and first_by_counts(c, row, d, top, p) or i32(UNSURE)
        if found == UNSURE then found = first_within(c, row, d, top, p) end
      end
      if found >= 0 then
        column, goes_on = row.chosen.columns[found], false
      else
        d.floor[0] = row.chosen.values[n - 1]
        own = add_up(c, row, d, top)
      end
    end
    sync_threads()
  end
  return column
end

-- {====== Kernels ======

local CANDIDATES <const> = 3 -- whose places in the least set one read of the row finds

-- What an element weighs beside the row's largest: 0 if it may not be drawn.
local function weights(c, factor, log2_min_p, seed)
  local d = { seed = seed, factor = factor, by = choices.by_powers(factor, c.dtype.bytes <= 2) }
  if c.has_p then
    d.floor = fragment(f32, 1)
    d.floor[0] = -math.huge
  end
  d.of_vector = d.by.weight -- what a vector's largest element weighs in the sums of vectors
  function d.weight(v, top)
    local w = d.by.weight(v, top)
    if c.has_min then w = where(d.by.distance(v, top) >= log2_min_p / factor, w, 0.0) end
    if c.has_p then w = where(v > d.floor[0], w, 0.0) end
    return w
  end
  return d
end

-- c: has_min, has_p, proposers (threads), most (proposals that are looked at at once), and what
-- selection_vectors.lua asks.
local function make(c)
  return kernel("sample", function(x, out, p, factor, log2_min_p, seed)
    local row = { x = x, start = call.like(blockIdx.x, size(x)) * c.n,
      largest = shared(c.dtype, c.n), sums = shared(f64, THREADS),
      taken = { columns = shared(i32, c.proposers), values = shared(f32, c.proposers),
        first = shared(i32, 1) },
      chosen = { columns = shared(i32, c.most), values = shared(f32, c.most),
        count = shared(i32, 1) } }
    local d = weights(c, factor, log2_min_p, seed)
    if c.has_p and counts.counts(c.dtype) then
      row.counts = counts.new(c)
      sync_threads()
    end
    grid_dependency_wait()
    local own, top = read_row(c, row, d)
    local column = c.has_p and draw_within(c, row, d, top, p, own) or draw_one(c, row, d, top, own)
    if threadIdx.x == 0 then out[blockIdx.x] = max(column, 0) end
  end)
end

-- {====== Steps ======

local kernel_of = memo.by_fields({ "dtype", "n", "has_min", "has_p" }, make)

--- The step that draws from x, as selection_call.lua describes it, into `out`, a flat i32. `o` has
--- the temperature, the seed, and p and min_p or nil. nil: selection_vectors.lua has no such rows.
function M.step(x, out, o)
  local width, n = vectors.of_rows(x)
  if not width then return nil end
  local c = { dtype = x.tensor.dtype, width = width, n = n, threads = THREADS,
    has_min = o.min_p ~= nil, has_p = o.p ~= nil,
    most = CANDIDATES, proposers = o.p and FEW or MANY }
  return { kernel = kernel_of(c), launch = { grid = x.n_rows, block = THREADS, pdl = true },
    args = { n = 6, x.flat, out, o.p and f32(o.p), f32(choices.factor(o.temperature)),
      o.min_p and f32(math.log(o.min_p, 2)), o.seed } }
end

return M
