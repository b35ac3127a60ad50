-- selection_look_back.lua: what comes before a tile, in one pass. Blocks take tiles by tickets, so
-- the tiles before a block's own have all begun, whatever the order of blocks. A tile publishes its
-- own sum. Then it looks back at what earlier tiles have published, and publishes the sum up to its
-- end ("decoupled look-back", Merrill and Garland 2016). Or, if a block stays and takes many tiles,
-- it remembers the sum before its last one, and adds the sums of the tiles since then.
--
-- A place holds a state, a flag of the value, and the value. If the value has 32 bits, they share a
-- word of 64, so a reader sees all or nothing, and no order is needed. Otherwise the value is
-- written first, and the state is stored with release; a fence follows the loads of states.
local M = {}

local LANES <const> = 32
local OWN <const>, ALL <const> = 1, 2 -- states; 0: nothing yet
M.OWN = OWN

--- The next tile of the launch, in all threads of the block. `tickets` has an integer at `at` that
--- is 0 before the launch.
function M.next_tile(tickets, at)
  local mine = shared(i32, 1)
  if threadIdx.x == 0 then mine[0] = cast(atomic_add(tickets, at, 1), i32) end
  sync_threads()
  return mine[0]
end

-- {====== Places ======

-- A value is {value =}, or {value =, head =}: head is 1 if a segment begins among its elements.

-- f(field, key) of each field.
local function map(v, f)
  if v.head == nil then return { value = f(v.value, "value") } end
  return { value = f(v.value, "value"), head = f(v.head, "head") }
end

local function choose(c, a, b)
  return map(a, function(field, key) return where(c, field, b[key]) end)
end

local function tag_of(state, v)
  if v.head == nil then return state end
  return state | v.head << 2
end

local function tagged(self, value, tag)
  if not self.has_heads then return { value = value } end
  return { value = value, head = tag >> 2 }
end

local relaxed <const> = { order = "relaxed" }

local Packed = {}
Packed.__index = Packed

function Packed:publish(at, state, v)
  local bits = cast(bitcast(v.value, u32), u64)
  atomic_store(self.words, at, cast(tag_of(state, v), u64) << 32 | bits, relaxed)
end

function Packed:load(at) return atomic_load(self.words, at, relaxed) end

-- Comes between the loads of words and the values that they announce.
function Packed.acquire() end

function Packed:found(_, word)
  local tag = cast(word >> 32, i32)
  return tag & 3, tagged(self, bitcast(cast(word, u32), self.dtype), tag)
end

local Wide = {}
Wide.__index = Wide

-- A state has memory of its own for its value: a reader may still copy the first one.
function Wide:publish(at, state, v)
  self.values[{ state - 1, at }] = v.value
  atomic_store(self.words, at, cast(tag_of(state, v), i32))
end

function Wide:load(at) return atomic_load(self.words, at, relaxed) end

function Wide:found(at, tag)
  local state = tag & 3
  return state, tagged(self, self.values[{ state - 1, at }], tag)
end

function Wide.acquire() fence({ order = "acq_rel" }) end

-- What the place has, as soon as it has something.
local function read(places, at)
  local word = places:load(at)
  while word == 0 do word = places:load(at) end
  places.acquire()
  return places:found(at, word)
end

--- The places of values of that type: `words` has an element for each, of the type M.word_type, 0
--- before the launch. `values`, of extents {2, places}, is needed if the type has 64 bits.
function M.places(dtype, has_heads, words, values)
  local class = dtype.bytes <= 4 and Packed or Wide
  return setmetatable({ dtype = dtype, has_heads = has_heads, words = words, values = values },
    class)
end

function M.word_type(dtype) return dtype.bytes <= 4 and u64 or i32 end

-- {====== Looking back ======

-- What the values of lanes first to 31 make, in the order of the lanes; in all lanes.
local function from_lane_on(v, first, combine)
  local lane = threadIdx.x % LANES
  local distance = 1
  while distance < LANES do
    local by = distance
    local right = map(v, function(x) return shfl_down(x, by) end)
    local both = combine(v, right)
    v = choose(lane + by < LANES, both, v)
    distance = distance * 2
  end
  return map(v, function(x) return shfl_idx(x, first) end)
end

local function nothing(places) return tagged(places, cast(0, places.dtype), i32(0)) end

--- Publishes what the tile has, and returns what all tiles before it make, for a warp that calls it
--- with all lanes. For the first tile the result means nothing. What tiles have published is
--- combined as it is found: the order of the tiles is kept, but not where the brackets are.
function M.any_order(places, tile, own, combine)
  local lane = threadIdx.x % LANES
  if lane == 0 then places:publish(tile, tile == 0 and ALL or OWN, own) end
  local before, has_before, at = nothing(places), false, tile - LANES
  local found = tile == 0
  while not found do
    local v, state = nothing(places), i32(0)
    if at + lane >= 0 then state, v = read(places, at + lane) end
    local all = ballot(state == ALL)
    local part = from_lane_on(v, max(LANES - 1 - clz(all), 0), combine)
    before = choose(has_before, combine(part, before), part)
    has_before, at, found = true, at - LANES, all ~= 0
  end
  if lane == 0 and tile > 0 then places:publish(tile, ALL, combine(before, own)) end
  return before
end

-- {====== Looking back again and again ======

local EACH <const> = 8 -- places that a lane reads
local GROUP <const> = EACH * LANES

-- What the n places from `first` on make, 0 < n <= GROUP, in lane 0: a lane combines its
-- neighbours, and the lanes are combined as a tree that depends on n alone.
local function part_of(places, first, n, combine)
  local lane, at, words = threadIdx.x % LANES, {}, {}
  for k = 0, EACH - 1 do
    at[k] = first + min(lane * EACH + k, n - 1)
    words[k] = places:load(at[k])
  end
  for k = 0, EACH - 1 do
    local word = words[k]
    while word == 0 do word = places:load(at[k]) end
    words[k] = word
  end
  places.acquire()
  local v
  for k = 0, EACH - 1 do
    local _, one = places:found(at[k], words[k])
    v = k == 0 and one or choose(lane * EACH + k < n, combine(v, one), v)
  end
  local distance = 1
  while distance < LANES do
    local by = distance
    local right = map(v, function(x) return shfl_down(x, by) end)
    v = choose(lane + by < LANES and (lane + by) * EACH < n, combine(v, right), v)
    distance = distance * 2
  end
  return v
end

--- What a block knows that takes tiles in ascending order: all groups of 256 tiles before a place.
function M.known(places)
  local known = { at = fragment(i32, 1), value = fragment(places.dtype, 1) }
  if places.has_heads then known.head = fragment(i32, 1) end
  known.at[0] = 0
  clear(known.value)
  if known.head then clear(known.head) end
  return known
end

local function value_of(known)
  return { value = known.value[0], head = known.head and known.head[0] or nil }
end

--- What all tiles before a tile make, for a warp that calls it with all lanes. The brackets depend
--- on the tile's number alone: the groups one after the other, and then the tiles of the last
--- group. So sums of floats have the same bits in every run. It waits for tiles before this one
--- only. `known` is of M.known. For tile 0 the result means nothing.
function M.before(places, known, tile, combine)
  while known.at[0] + GROUP <= tile do
    local part = part_of(places, known.at[0], i32(GROUP), combine)
    local all = choose(known.at[0] > 0, combine(value_of(known), part), part)
    known.value[0] = all.value
    if known.head then known.head[0] = all.head end
    known.at[0] = known.at[0] + GROUP
  end
  local v, n = value_of(known), tile - known.at[0]
  if n > 0 then
    local part = part_of(places, known.at[0], n, combine)
    v = choose(known.at[0] > 0, combine(v, part), part)
  end
  return map(v, function(x) return shfl_idx(x, 0) end)
end

return M
