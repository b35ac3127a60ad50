-- selection_draw.lua: a random column of each row among all of them, the least set with a
-- probability of p, or those that are not too far below the largest. A block reads a row once. It
-- keeps the largest element of each group of vectors in shared memory, and adds up what they would
-- weigh if all of their elements were the largest. Then some threads propose a column each: a group
-- by that sum, and one of its elements, which is taken with the probability of the element's weight
-- beside that of the largest one. So columns are taken by their own weights, and the first one that
-- is taken is the row's result. For the least set, some are taken, and counts of the row's values
-- (selection_counts.lua) or another read of the row find which of them are in it. A group has two
-- vectors: the weights of the last ones follow the read. For the least set it has one, so that
-- more proposals are taken.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local counts = require "cuttle.selection_counts"
local memo = require "cuttle.memo"
local options = require "cuttle.selection_options"
local vectors = require "cuttle.selection_vectors"
local M = {}

local uses <const> = options.uses

local WARP <const>, ALL <const>, THREADS <const> = 32, 0xffffffff, 1024
local WARPS <const> = THREADS // WARP
local FEW <const>, MANY <const> = 128, 256 -- threads, of which some propose what may be drawn
-- Shared memory of what finds the least set, at most: with counts of values, and without.
local COUNTED_BYTES <const>, SET_BYTES <const> = 65536, 36864

-- {====== Reading the row ======

-- Reads the row: the largest elements of its groups, to shared memory, and the sum of what the
-- thread's groups would weigh, if all of their elements were the largest, beside its `base`.
local function read_row(c, row, d)
  local base, sum = cast(-math.huge, f32), cast(0, f32)
  vectors.keep_largest(c, row, row.largest, function(most)
    base, sum = d.by.add_vector(base, sum, most)
  end)
  return base, sum
end

-- The same sum, beside `top`, of groups whose largest element may be drawn.
local function add_up(c, row, d, top)
  local own = cast(0, f32)
  for group in range(threadIdx.x, vectors.groups(c), THREADS, { unroll = 4 }) do
    own = own + d.of_group(cast(row.largest[group], f32), top)
  end
  return own
end

-- The largest f32 of a warp's: one instruction finds the largest of whole numbers in that order.
local function largest_of_warp(v)
  local function ordered(bits) return where(bits < 0, bits ~ 0x7fffffff, bits) end
  return bitcast(ordered(warp_reduce(ordered(bitcast(v, i32)), "max", { mask = ALL })), f32)
end

-- Tells the block what its threads have: the sums up to each lane of a warp, beside the warp's
-- largest base.
local function tell(row, d, base, sum)
  local most = largest_of_warp(base)
  local up_to = warp_scan(d.by.moved({ sum }, { base }, { most })[1], "add")
  local warp = threadIdx.x // WARP
  row.sums[threadIdx.x] = up_to
  if threadIdx.x % WARP == WARP - 1 then
    row.warps.most[warp], row.warps.sums[warp] = most, up_to
  end
  sync_threads()
end

-- What each lane knows of the warp of its number: what its sums are multiplied by to be beside the
-- row's largest base, `top`, and the sum up to that warp. `total`: the row's sum.
local function told(row, d)
  local most, sum = row.warps.most[threadIdx.x % WARP], row.warps.sums[threadIdx.x % WARP]
  local top = largest_of_warp(most)
  local scale = d.by.weight(most, top)
  local up_to = warp_scan(cast(sum, f64) * cast(scale, f64), "add")
  return { top = top, scale = scale, up_to = up_to, total = shfl_idx(up_to, WARP - 1) }
end

-- {====== Proposals ======

-- The first lane for which sum_of(lane) is above the goal, at most the last one: three sums tell in
-- which quarter it is, three more in which of its quarters.
local function first_above(sum_of, goal)
  local low = i32(0)
  for _, step in ipairs { 8, 2, 1 } do
    local from = low
    for i = 1, step > 1 and 3 or 1 do
      low = low + where(sum_of(from + (i * step - 1)) <= goal, step, 0)
    end
  end
  return low
end

-- Of thread t, the group of vectors at which its weights beside `top` reach `rest`, and the weight
-- of the group's largest element.
local function group_of(c, row, d, top, t, rest)
  local at, weight, left = i32(-1), cast(0, f32), rest
  for group in range(t, vectors.groups(c), THREADS, { unroll = 4 }) do
    local own = d.of_group(cast(row.largest[group], f32), top)
    if left >= 0.0 and own > 0.0 then at, weight = group, own end
    left = left - own
  end
  return at, weight
end

-- One of a group's columns, by random bits, and whether the row has it.
local function column_of(c, group, bits)
  local at = vectors.of_group(c, group, 0)
  if c.each > 1 then at = where(bits & c.width ~= 0, vectors.of_group(c, group, 1), at) end
  local is_in = c.n % (c.each * THREADS) == 0 or at < c.n
  return min(at, c.n - 1) * c.width + cast(bits & c.width - 1, i32), is_in
end

-- {column, value, takes} that each lane of a warp proposes, the number-th proposal of the row:
-- `takes`: it takes the column.
local function propose(c, row, d, all, number)
  local a, b, which, chance = rand_u32x4(d.seed, cast(d.number, i64) << 32 | cast(number, i64))
  local goal = choices.unit(a, b) * all.total
  local warp = first_above(function(i) return shfl_idx(all.up_to, i) end, goal)
  local before = shfl_idx(all.up_to, max(warp - 1, 0))
  local scale, first = shfl_idx(all.scale, warp), warp * WARP
  local function up_to(i) return row.sums[first + i] * scale end
  local rest = cast(goal - where(warp > 0, before, 0.0), f32)
  local lane = first_above(up_to, rest)
  rest = rest - where(lane > 0, up_to(max(lane - 1, 0)), 0.0)
  local at, most = group_of(c, row, d, all.top, first + lane, rest)
  local column, is_in = column_of(c, max(at, 0), which)
  local value = cast(row.x[row.start * c.width + column], f32)
  local takes = cast(chance >> 8, f32) * 2.0 ^ -24 * most < d.by.weight(value, all.top)
  takes = takes and at >= 0 and is_in and d.may_be(value, all.top)
  return { column = column, value = value, takes = takes }
end

-- The column of the first proposal that a warp takes, -1: nothing has a weight.
local function draw_any(c, row, d)
  local all, column, number = told(row, d), i32(-1), threadIdx.x
  local goes_on = all.total > 0.0
  while goes_on do
    local mine = propose(c, row, d, all, number)
    local takers = ballot(mine.takes)
    if takers ~= 0 then column = shfl_idx(mine.column, ffs(takers) - 1) end
    number, goes_on = number + WARP, takers == 0
  end
  return column
end

-- The same of the block: its first threads make c.proposers proposals at a time, once, or until one
-- is taken or there is no weight.
local function first_taken(c, row, d, number, is_once)
  local all, n = told(row, d), c.proposers
  if threadIdx.x == 0 then row.taken.first[0] = n end
  sync_threads()
  local column, goes_on = i32(-1), all.total > 0.0
  while goes_on do
    if threadIdx.x < n then
      local mine = propose(c, row, d, all, number + threadIdx.x)
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

-- The row's column among those that are not too far below the largest: they are likely to be among
-- many proposals, so the weights of others are left out only if they are not.
local function draw_near(c, row, d)
  local column = first_taken(c, row, d, i32(0), true)
  if column < 0 then
    local few, top = setmetatable({ of_group = d.weight }, { __index = d }), told(row, d).top
    sync_threads() -- all have read what was told
    tell(row, few, top, add_up(c, row, few, top))
    column = first_taken(c, row, few, i32(c.proposers), false)
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
    local column = taken.columns[min(first, c.proposers - 1)]
    if first < c.proposers then above, n = taken.values[first], i + 1 end
    if threadIdx.x == 0 then chosen.columns[i], chosen.values[i] = column, above end
  end
  if threadIdx.x == 0 then chosen.count[0] = n end
end

-- Chooses some columns, of the first proposals of which any is taken; none if nothing can be drawn.
-- Their count is 0 before. `number` is that of the first proposal; returns the next one.
local function choose(c, row, d, all, number)
  local goes_on = all.total > 0.0
  while goes_on do
    if threadIdx.x < c.proposers then
      local mine = propose(c, row, d, all, number + threadIdx.x)
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
local function draw_within(c, row, d, p)
  d.of_group = d.weight
  if c.has_min then
    local top = told(row, d).top
    sync_threads() -- all have read what was told
    tell(row, d, top, add_up(c, row, d, top))
  end
  local column, number, goes_on = i32(0), i32(0), true
  while goes_on do
    local all = told(row, d)
    if threadIdx.x == 0 then row.chosen.count[0] = 0 end
    sync_threads()
    number = choose(c, row, d, all, number)
    local n = row.chosen.count[0]
    goes_on = n > 0
    if goes_on then
      local found = i32(0) -- nothing is above the largest element
      if row.chosen.values[0] < all.top then
        found = row.counts and first_by_counts(c, row, d, all.top, p) or i32(UNSURE)
        if found == UNSURE then found = first_within(c, row, d, all.top, p) end
      end
      if found >= 0 then
        column, goes_on = row.chosen.columns[found], false
      else
        d.floor[0] = row.chosen.values[n - 1]
        tell(row, d, all.top, add_up(c, row, d, all.top))
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
  local d = { factor = factor, by = choices.by_powers(factor, c.dtype.bytes <= 2) }
  d.seed, d.number = options.own_seed(seed)
  if c.has_p then
    d.floor = fragment(f32, 1)
    d.floor[0] = -math.huge
  end
  d.of_group = d.by.weight -- what a group's largest element weighs in the sums of groups
  function d.may_be(v, top)
    local may_be = v > -math.huge
    if c.has_min then may_be = may_be and d.by.distance(v, top) >= log2_min_p / factor end
    if c.has_p then may_be = may_be and v > d.floor[0] end
    return may_be
  end
  function d.weight(v, top) return where(d.may_be(v, top), d.by.weight(v, top), 0.0) end
  return d
end

-- c: has_min, has_p, proposers (threads), most (proposals that are looked at at once), and what
-- selection_vectors.lua asks.
local function make(c)
  return kernel("sample", function(x, out, p, factor, log2_min_p, seed)
    local row = { x = x, start = call.like(blockIdx.x, size(x)) * c.n,
      largest = shared(c.dtype, vectors.groups(c)), sums = shared(f32, THREADS),
      warps = { most = shared(f32, WARPS), sums = shared(f32, WARPS) },
      taken = { columns = shared(i32, c.proposers), values = shared(f32, c.proposers),
        first = shared(i32, 1) },
      chosen = { columns = shared(i32, c.most), values = shared(f32, c.most),
        count = shared(i32, 1) } }
    if c.has_p and counts.counts(c.dtype) then
      row.counts = counts.new(c)
      sync_threads()
    end
    grid_dependency_wait() -- a launch before may write the row's options
    p = options.own(p, uses.itself)
    local d = weights(c, options.own(factor, uses.factor), options.own(log2_min_p, uses.log2), seed)
    tell(row, d, read_row(c, row, d))
    if c.has_p or c.has_min then
      local column = c.has_p and draw_within(c, row, d, p) or draw_near(c, row, d)
      if threadIdx.x == 0 then out[blockIdx.x] = max(column, 0) end
    elseif threadIdx.x < WARP then
      local column = draw_any(c, row, d)
      if threadIdx.x == 0 then out[blockIdx.x] = max(column, 0) end
    end
  end)
end

-- {====== Steps ======

local kernel_of = memo.by_fields({ "dtype", "n", "has_min", "has_p" }, make)

--- The step that draws from x, as selection_call.lua describes it, into `out`, a flat i32. `o` has
--- what selection_options.lua has read. nil: selection_vectors.lua has no such rows, or a block has
--- no room for what finds the least set.
function M.step(x, out, o)
  local width, n = vectors.of_rows(x)
  if not width then return nil end
  local c = { dtype = x.tensor.dtype, width = width, n = n, threads = THREADS,
    has_min = o.min_p ~= nil, has_p = o.top_p ~= nil,
    each = o.top_p and 1 or 2, most = CANDIDATES, proposers = o.top_p and FEW or MANY }
  local room = call.target(x).shared - vectors.groups(c) * c.dtype.bytes
  local of_set = counts.counts(c.dtype) and COUNTED_BYTES or SET_BYTES
  if c.has_p and room < of_set then return nil end
  return { kernel = kernel_of(c), launch = { grid = x.n_rows, block = THREADS, pdl = true },
    args = { n = 6, x.flat, out, options.argument(o.top_p, uses.itself),
      options.argument(o.temperature, uses.factor), options.argument(o.min_p, uses.log2), o.seed } }
end

return M
