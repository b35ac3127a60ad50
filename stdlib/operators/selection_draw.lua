-- selection_draw.lua: a random column of each row among all of them, the least set with a
-- probability of p, or those that are not too far below the largest. A block reads a row once. It
-- keeps the largest element of each vector in shared memory, and adds up what vectors would weigh
-- if all of their elements were the largest. Then each lane of a warp proposes a column: a vector
-- by that sum, and one of its elements, which it takes with the probability of the element's weight
-- beside that of the largest one. So columns are taken by their own weights, and the first lane
-- that takes one has the row's result. Of the least set, some are taken, and another read of the
-- row finds which of them are in it.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local vectors = require "cuttle.selection_vectors"
local M = {}

local WARP <const>, THREADS <const> = 32, 1024

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
    own = own + d.weight(cast(row.largest[v], f32), top)
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
    local own = d.weight(cast(row.largest[v], f32), top)
    if left >= 0.0 and own > 0.0 then at, weight = v, own end
    left = left - cast(own, f64)
  end
  return at, weight
end

-- {column, value, takes} that the lane proposes: `takes`: it takes the column.
local function propose(c, row, d, top, round)
  local number = cast(blockIdx.x, i64) << 32 | cast(round * WARP + threadIdx.x, i64)
  local a, b, which, chance = rand_u32x4(d.seed, number)
  local goal = choices.unit(a, b) * row.sums[THREADS - 1]
  local t = thread_of(row.sums, goal)
  local before = where(t > 0, row.sums[max(t - 1, 0)], 0.0)
  local at, most = vector_of(c, row, d, top, t, goal - before)
  local column = max(at, 0) * c.width + cast(which & c.width - 1, i32)
  local value = cast(row.x[row.start * c.width + column], f32)
  local takes = at >= 0 and cast(chance >> 8, f32) * 2.0 ^ -24 * most < d.weight(value, top)
  return { column = column, value = value, takes = takes }
end

-- The first of the warp's proposals that are taken, at most c.most of them, to row.taken; `round`
-- is the number of the first proposals. Returns the number of the next ones.
local function take(c, row, d, top, round)
  local n = i32(0)
  while n == 0 and row.sums[THREADS - 1] > 0.0 do
    local mine = propose(c, row, d, top, round)
    local takers = ballot(mine.takes)
    local place = popc(takers & (u32(1) << cast(threadIdx.x, u32)) - 1)
    if mine.takes and place < c.most then
      row.taken.columns[place], row.taken.values[place] = mine.column, mine.value
    end
    n, round = min(popc(takers), c.most), round + 1
  end
  if threadIdx.x == 0 then row.taken.count[0] = n end
  sync_warp()
  return round
end

-- {====== The least set with the probability p ======

-- The number of the first taken element above which there is less than p of all weights; -1: none.
local function first_within(c, row, d, top, p)
  local zero, values = cast(0, f32), {}
  local sums = { [0] = zero } -- of all elements; of those above each value
  for i = 1, c.most do sums[i], values[i] = zero, row.taken.values[i - 1] end
  vectors.each_batch(c, row, function(at, now, last)
    for i = 0, last do
      for e = 0, c.width - 1 do
        local v = cast(now[{ e, i }], f32)
        local w = d.by.power(v, top)
        if vectors.is_in(c, at[i]) ~= true then w = where(at[i] < c.n, w, 0.0) end
        sums[0] = sums[0] + w
        for j = 1, c.most do sums[j] = sums[j] + where(v > values[j], w, 0.0) end
      end
    end
  end)
  local all = {}
  for i = 0, c.most do all[i] = block_reduce(cast(sums[i], f64), "add") end
  local found = i32(-1)
  for i = c.most, 1, -1 do
    local is_within = all[i] < all[0] * cast(p, f64) and i <= row.taken.count[0]
    found = where(is_within, i - 1, found)
  end
  return found
end

-- The row's column. Elements up to one that is not in the least set are not in it either.
local function draw_within(c, row, d, top, p, own)
  local column, round, goes_on = i32(0), i32(0), true
  while goes_on do
    row.sums[threadIdx.x] = block_scan(cast(own, f64), "add")
    sync_threads()
    if threadIdx.x < WARP then round = take(c, row, d, top, round) end
    sync_threads()
    local n = row.taken.count[0]
    goes_on = n > 0
    if goes_on then
      local found = first_within(c, row, d, top, p)
      if found >= 0 then
        column, goes_on = row.taken.columns[found], false
      else
        for i = 0, c.most - 1 do
          if i < n then d.floor[0] = max(d.floor[0], row.taken.values[i]) end
        end
        own = add_up(c, row, d, top)
      end
    end
    sync_threads()
  end
  return column
end

-- {====== Kernels ======

local CANDIDATES <const> = 4 -- whose places in the least set one read of the row finds

-- What an element weighs beside the row's largest: 0 if it may not be drawn.
local function weights(c, factor, log2_min_p, seed)
  local d = { seed = seed, by = choices.by_powers(factor, c.dtype.bytes <= 2) }
  if c.has_p then
    d.floor = fragment(f32, 1)
    d.floor[0] = -math.huge
  end
  function d.weight(v, top)
    local w = d.by.weight(v, top)
    if c.has_min then w = where(d.by.distance(v, top) >= log2_min_p / factor, w, 0.0) end
    if c.has_p then w = where(v > d.floor[0], w, 0.0) end
    return w
  end
  return d
end

-- c: has_min, has_p, most (proposals that are taken at once), and what selection_vectors.lua asks.
local function make(c)
  return kernel("sample", function(x, out, p, factor, log2_min_p, seed)
    local row = { x = x, start = call.like(blockIdx.x, size(x)) * c.n,
      largest = shared(c.dtype, c.n), sums = shared(f64, THREADS),
      taken = { columns = shared(i32, c.most), values = shared(f32, c.most),
        count = shared(i32, 1) } }
    local d = weights(c, factor, log2_min_p, seed)
    grid_dependency_wait()
    local own, top = read_row(c, row, d)
    if c.has_min then own = add_up(c, row, d, top) end
    if c.has_p then
      local column = draw_within(c, row, d, top, p, own)
      if threadIdx.x == 0 then out[blockIdx.x] = column end
    else
      row.sums[threadIdx.x] = block_scan(cast(own, f64), "add")
      sync_threads()
      if threadIdx.x < WARP then
        take(c, row, d, top, i32(0))
        if threadIdx.x == 0 then
          out[blockIdx.x] = where(row.taken.count[0] > 0, row.taken.columns[0], 0)
        end
      end
    end
  end)
end

-- {====== Steps ======

local made = {}

--- The step that draws from x, as selection_call.lua describes it, into `out`, a flat i32. `o` has
--- the temperature, the seed, and p and min_p or nil. nil: selection_vectors.lua has no such rows.
function M.step(x, out, o)
  local width, n = vectors.of_rows(x)
  if not width then return nil end
  local c = { dtype = x.tensor.dtype, width = width, n = n, threads = THREADS,
    has_min = o.min_p ~= nil, has_p = o.p ~= nil, most = o.p and CANDIDATES or 1 }
  local key = ("%s %d %s %s"):format(c.dtype.name, c.n, c.has_min, c.has_p)
  made[key] = made[key] or make(c)
  return { kernel = made[key], launch = { grid = x.n_rows, block = THREADS, pdl = true },
    args = { n = 6, x.flat, out, o.p and f32(o.p), f32(choices.factor(o.temperature)),
      o.min_p and f32(math.log(o.min_p, 2)), o.seed } }
end

return M
