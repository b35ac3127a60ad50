-- row_reduce.lua: the reductions of a row_kernel: what a thread collects in a pass, and how
-- threads, warps and blocks of a row combine it. `found` is a reduction as row_methods.lua notes
-- it: its kind or its function `combine` with `init`, and `values`, of which it is made.
local internal = ...
local planner = require "cuttle.row_plan"
local M = {}

-- {====== Reductions ======

local combine_of = {
  add = function(a, b) return a + b end,
  max = function(a, b) return max(a, b) end,
  min = function(a, b) return min(a, b) end,
}

local function lowest_of(dtype)
  if dtype == f32 or dtype == f64 then return -math.huge end
  return dtype == i32 and math.mininteger >> 32 | -1 << 31 or dtype == i64 and math.mininteger or 0
end

local function highest_of(dtype)
  if dtype == f32 or dtype == f64 then return math.huge end
  if dtype == u64 then return -1 end -- all bits
  return dtype == i32 and 0x7fffffff or dtype == u32 and 0xffffffff or math.maxinteger
end

--- What row:max of such a value begins with.
function M.lowest(value)
  local dtype = internal.kernel.dtype_of(value)
  return cast(lowest_of(dtype), dtype)
end

local function zero() return 0 end

local identities <const> = {
  add = zero, ["or"] = zero, xor = zero, max = lowest_of, min = highest_of,
  mul = function() return 1 end, ["and"] = function() return -1 end,
}

--- The number that changes no other under an operation, 'add' and so on, of values of that type.
function M.identity(kind, dtype) return identities[kind](dtype) end

-- How two values of the reduction's list become one, and what changes none of them.
local function operation(found, i)
  if found.combine then return found.combine, found.init end
  local dtype = internal.kernel.dtype_of(found.values[i])
  return combine_of[found.kind], cast(M.identity(found.kind, dtype), dtype)
end

local CHAINS <const> = 4 -- sums of a thread that do not wait for each other

function M.new_sums(found, width)
  local chains = {}
  for c = 1, found.combine and 1 or min(width, CHAINS) do
    chains[c] = {}
    for i in ipairs(found.values) do
      local _, init = operation(found, i)
      chains[c][i] = init
    end
  end
  return chains
end

function M.add_to(chains, found, e)
  local chain = chains[e % #chains + 1]
  for i, v in ipairs(found.values) do
    local combine = operation(found, i)
    chain[i] = combine(chain[i], v)
  end
end

-- One value of each, of the thread.
function M.join(chains, found)
  local sums = chains[1]
  for c = 2, #chains do
    for i in ipairs(found.values) do
      local combine = operation(found, i)
      sums[i] = combine(sums[i], chains[c][i])
    end
  end
  return sums
end

-- {====== Over threads, warps and blocks ======

local WARP <const> = 32

local function is_record(v) return type(v) == "table" and getmetatable(v) == nil end

-- f("value", v) of a number, or f(key, field) of each field of a record.
local function map(v, f)
  if not is_record(v) then return f("value", v) end
  local out = {}
  for key, field in pairs(v) do out[key] = f(key, field) end
  return out
end

-- The values of n places as one, in every thread; each warp combines them in the same order.
local function combine_places(read, n, combine, by)
  local lane, width = threadIdx.x % WARP, min(n, WARP)
  local sum = read(lane % width)
  for at = WARP, n - 1, WARP do sum = combine(sum, read(lane + at)) end
  return warp_reduce(sum, by, width)
end

-- The value of each place; it is read when all places have theirs.
local function spread_one(level, turn, v)
  local slots = {}
  map(v, function(key, field)
    slots[key] = shared(internal.kernel.dtype_of(field), { level.n, 2 })
    level.put(slots[key], turn, field)
    return field
  end)
  return function(at) return map(v, function(key) return slots[key][{ at, turn }] end) end
end

local function is_word(v)
  return v ~= nil and not is_record(v) and internal.kernel.dtype_of(v).bytes == 4
end

-- The same of two values of four bytes, which one store of eight sends.
local function spread_pair(level, turn, a, b)
  local slots = shared(u64, { level.n, 2 })
  level.put(slots, turn, cast(bitcast(a, u32), u64) | cast(bitcast(b, u32), u64) << 32)
  local function half(v, shift)
    local dtype = internal.kernel.dtype_of(v)
    return function(at) return bitcast(cast(slots[{ at, turn }] >> shift, u32), dtype) end
  end
  return half(a, 0), half(b, 32)
end

-- Each of n places gets the values. `put(slots, turn, field)` writes a value to its place; the
-- places of even and of odd turns differ, so nobody waits until all have read. `meet` waits until
-- all places have theirs. Returns for each value a function that reads it at a place.
local function spread(thread, values, level)
  local reads, turn, i = {}, thread.turn % 2, 1
  while i <= #values do
    local n = level.sends_pairs and is_word(values[i]) and is_word(values[i + 1]) and 2 or 1
    if n == 2 then
      reads[i], reads[i + 1] = spread_pair(level, turn, values[i], values[i + 1])
    else
      reads[i] = spread_one(level, turn, values[i])
    end
    i = i + n
  end
  level.meet()
  return reads
end

-- {====== Over groups of columns ======
-- `values` has a vector's elements, from 0 on, and so has what is returned; `is_in`: the vector is
-- one of the row's. A group lies in one vector, or is made of those of neighbouring lanes.

local function swapped(p, found, values, is_in)
  local distance, out = found.n // 2, {}
  for e = 0, p.width - 1 do
    local nothing = cast(0, internal.kernel.dtype_of(values[e]))
    if distance < p.width then
      out[e] = values[e ~ distance]
    elseif distance >= p.width * p.lanes then -- all of the row is in one half
      out[e] = nothing
    else
      out[e] = shfl_xor(where(is_in, values[e], nothing), distance // p.width)
    end
  end
  return out
end

local function combined(p, found, values, is_in)
  local combine, init = operation(found, 1)
  local n, out = min(found.n, p.width), {}
  for first = 0, p.width - 1, n do
    local sum = values[first]
    for e = first + 1, first + n - 1 do sum = combine(sum, values[e]) end
    local lanes = min(found.n // n, p.lanes)
    if lanes > 1 then sum = warp_reduce(where(is_in, sum, init), found.kind, lanes) end
    for e = first, first + n - 1 do out[e] = sum end
  end
  return out
end

--- Do two vectors of one thread swap?
function M.is_of_thread(p, found)
  return p.swap and found.kind == "swap" and found.n // 2 >= p.width * p.lanes
end

--- The vector of the thread that swaps with its j-th one.
function M.partner(p, found, j) return j ~ found.n // (2 * p.width * p.lanes) end

function M.over_group(p, found, values, is_in)
  return (found.kind == "swap" and swapped or combined)(p, found, values, is_in)
end

-- {====== Over the row ======

--- How many exchanges of a row have mbarriers, where blocks of a cluster take rows in turns.
M.EXCHANGES = 4

-- Blocks that take rows in turns send what they have by st.async, and an mbarrier of the receiver
-- counts the bytes. A barrier of the cluster would wait until the stores of the row before are
-- done, and drop the first cache. Even and odd turns have barriers of their own. If `warps` of each
-- block send, no warp waits for the others of its block first. A warp sends what it has of the next
-- turn after all of its lanes have read what it got, so nobody sends to a place that is still read.
local function async_level(p, thread, warps)
  local exchange, turn = thread.n_exchanges, thread.turn
  thread.n_exchanges = exchange + 1
  local full, bytes = thread.full[2 * exchange + turn % 2], 0
  local rank, place = threadIdx.x, thread.part
  if warps > 1 then
    rank, place = threadIdx.x % WARP, thread.part * warps + threadIdx.x // WARP
  end
  local level = { n = p.parts * warps, sends_pairs = warps > 1 }
  function level.put(slots, at, field)
    if warps > 1 and bytes == 0 then sync_warp() end -- shuffles order no memory
    bytes = bytes + level.n * slots.dtype.bytes
    if rank < p.parts then st_async(slots, { place, at }, field, full, rank) end
  end
  function level.meet()
    if threadIdx.x == 0 then full:arrive_expect_tx(bytes) end
    full:wait(turn // 2 % 2)
  end
  return level
end

-- All warps of a cluster at once, if a warp can read what they have.
local function cluster_level(p, thread, warps)
  return { n = warps * p.parts, meet = sync_cluster, put = function(slots, turn, field)
    if threadIdx.x % WARP < p.parts then
      local at = thread.part * warps + threadIdx.x // WARP
      map_shared_rank(slots, threadIdx.x % WARP)[{ at, turn }] = field
    end
  end }
end

-- Beyond a warp, who exchanges what they have: the warps of a block, then the blocks of a cluster.
local function levels_of(p, thread, in_steps)
  local levels, warps = {}, p.lanes // WARP
  local is_async = p.parts > 1 and thread.full and thread.n_exchanges < M.EXCHANGES
  if not in_steps and planner.meets_at_once(p) then
    return { cluster_level(p, thread, warps) }
  elseif not in_steps and is_async and p.warps_send then
    return { async_level(p, thread, warps) }
  end
  if p.lanes > WARP then
    levels[1] = { n = p.lanes // WARP, meet = sync_threads, put = function(slots, turn, field)
      if threadIdx.x % WARP == 0 then slots[{ threadIdx.x // WARP, turn }] = field end
    end }
  end
  if is_async then
    levels[#levels + 1] = async_level(p, thread, 1)
  elseif p.parts > 1 then
    levels[#levels + 1] = { n = p.parts, meet = sync_cluster, put = function(slots, turn, field)
      if threadIdx.x < p.parts then
        map_shared_rank(slots, threadIdx.x)[{ thread.part, turn }] = field
      end
    end }
  end
  return levels
end

-- The values over the lanes of a warp that have the row.
local function over_warp(p, values, by)
  if p.lanes == 1 then return values end
  local out = {}
  for i, v in ipairs(values) do out[i] = warp_reduce(v, by, min(p.lanes, WARP)) end
  return out
end

--- The reduction's values over all threads of the row: of warps, of the block, of the cluster.
function M.over_row(p, thread, sums, found)
  local by = found.combine or found.kind
  local values = over_warp(p, sums, by)
  for _, level in ipairs(levels_of(p, thread)) do
    for i, read in ipairs(spread(thread, values, level)) do
      values[i] = combine_places(read, level.n, operation(found, i), by)
    end
  end
  return values
end

-- What a lane reads of a level's n places: of each its list of values.
local function own_places(reads, n)
  local places = {}
  for first = 0, n - 1, WARP do
    local own, at = {}, threadIdx.x % WARP % min(n, WARP) + first
    for i, read in ipairs(reads) do own[i] = read(at) end
    places[#places + 1] = own
  end
  return places
end

-- Lists of values as one, by f(a, b, number of the value).
local function folded(lists, f)
  local all = table.move(lists[1], 1, #lists[1], 1, {})
  for k = 2, #lists do
    for i, v in ipairs(all) do all[i] = f(v, lists[k][i], i) end
  end
  return all
end

-- Warps, blocks and the cluster exchange what both steps of a reduction have found.
local function exchange_both(p, thread, firsts, seconds, found)
  local count = p.deep * p.width * min(p.lanes, WARP) -- elements of a place, if the row is whole
  for _, level in ipairs(levels_of(p, thread)) do
    local n, both = #firsts, table.move(seconds, 1, #seconds, #firsts + 1, { table.unpack(firsts) })
    local width, mine, moved = min(level.n, WARP), {}, {}
    local places = own_places(spread(thread, both, level), level.n)
    for k, own in ipairs(places) do mine[k] = table.move(own, 1, n, 1, {}) end
    local all = folded(mine, function(a, b, i) return operation(found, i)(a, b) end)
    for i, v in ipairs(all) do firsts[i] = warp_reduce(v, found.kind, width) end
    for k, own in ipairs(places) do
      moved[k] = found.moved(table.move(own, n + 1, #own, 1, {}), mine[k], firsts, count,
        count * level.n)
    end
    count = count * level.n
    seconds = folded(moved, combine_of.add)
    for i, v in ipairs(seconds) do seconds[i] = warp_reduce(v, "add", width) end
  end
  return table.move(seconds, 1, #seconds, #firsts + 1, firsts)
end

--- The same of a reduction of two steps, which warps, blocks and the cluster exchange at once.
--- found.second(first results...) lists the values of the second step, which are added up; they
--- may depend on what the first step finds among a warp's elements. found.moved(seconds, firsts,
--- all, n, n_all) says what sums would be if they had been made with `all` in the place of
--- `firsts`; n elements have `firsts`, and n_all have `all`, if p.is_whole.
--- sum_second(found, firsts) makes the second pass. Returns the first results, then the sums.
function M.over_row_twice(p, thread, sums, found, sum_second)
  local firsts = over_warp(p, sums, found.kind)
  return exchange_both(p, thread, firsts, over_warp(p, sum_second(firsts), "add"), found)
end

--- The same of a reduction whose two steps a thread has made at once.
function M.over_row_at_once(p, thread, firsts, seconds, found)
  local all = over_warp(p, firsts, found.kind)
  local moved = over_warp(p, found.moved(seconds, firsts, all), "add")
  return exchange_both(p, thread, all, moved, found)
end

-- {====== Shares ======

-- The sums of the places up to each lane's, for a warp whose lane i has that of place i % n.
local function up_to(v, n)
  local at, distance = threadIdx.x % n, 1
  while distance < n do
    local other = shfl_up(v, distance, n)
    v = where(at >= distance, v + other, v)
    distance = 2 * distance
  end
  return v
end

--- Whether u of what all threads of the row have together, u from [0, 1), falls into the thread's
--- own part, and how far. The parts are in the order of blocks, warps and lanes.
function M.share_of(p, thread, sum, u)
  local own, lanes = cast(sum, f64), min(p.lanes, WARP)
  local lane_sum = up_to(own, lanes)
  local before = where(threadIdx.x % lanes > 0, shfl_up(lane_sum, 1, lanes), 0.0)
  local total, offset = shfl_idx(lane_sum, lanes - 1, lanes), cast(0, f64)
  for i, level in ipairs(levels_of(p, thread, true)) do
    local at = i == 1 and p.lanes > WARP and threadIdx.x // WARP or thread.part
    local read = spread(thread, { total }, level)[1]
    local sums = up_to(read(threadIdx.x % WARP % level.n), level.n)
    offset = offset + where(at > 0, shfl_idx(sums, max(at - 1, 0), level.n), 0.0)
    total = shfl_idx(sums, level.n - 1, level.n)
  end
  local goal = u * total
  local is_hit = goal >= offset + before and goal < offset + lane_sum
  return is_hit and own > 0.0, goal - (offset + before)
end

return M
