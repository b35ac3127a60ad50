-- selection_look_back.lua: what comes before a tile, in one pass ("decoupled look-back", Merrill
-- and Garland 2016). Blocks take tiles by tickets, so the tiles before a block's own have all
-- begun, whatever the order of blocks. A tile publishes its own sum, looks back at what earlier
-- tiles have published, and publishes the sum up to its end.
--
-- A place holds a state, a flag of the value, and the value. If the value has 32 bits, they share a
-- word of 64, so a reader sees all or nothing, and no order is needed. Otherwise the value is
-- written first, and the state is stored with release and loaded with acquire.
local M = {}

local LANES <const> = 32
local OWN <const>, ALL <const> = 1, 2 -- states; 0: nothing yet

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

function Packed:read(at)
  local word = atomic_load(self.words, at, relaxed)
  while word == 0 do word = atomic_load(self.words, at, relaxed) end
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

function Wide:read(at)
  local tag = atomic_load(self.words, at)
  while tag == 0 do tag = atomic_load(self.words, at) end
  local state = tag & 3
  return state, tagged(self, self.values[{ state - 1, at }], tag)
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
    if at + lane >= 0 then state, v = places:read(at + lane) end
    local all = ballot(state == ALL)
    local part = from_lane_on(v, max(LANES - 1 - clz(all), 0), combine)
    before = choose(has_before, combine(part, before), part)
    has_before, at, found = true, at - LANES, all ~= 0
  end
  if lane == 0 and tile > 0 then places:publish(tile, ALL, combine(before, own)) end
  return before
end

-- What the n < 32 places from `first` on make, in order; nothing for n = 0.
local function part_of(places, first, n, combine)
  local at, v = threadIdx.x % LANES - (LANES - n), nothing(places)
  if at >= 0 then
    local _, found = places:read(first + at)
    v = found
  end
  return from_lane_on(v, min(LANES - n, LANES - 1), combine)
end

local function joined(has_left, left, has_right, right, combine)
  return choose(has_left, choose(has_right, combine(left, right), left), right)
end

--- The same, with brackets that depend on the tile's number alone, so that sums of floats have the
--- same bits in every run: 32 tiles are a group, 32 groups a batch, and a tile combines all batches
--- before its own, then the groups, then the tiles. `places` are those of tiles, `groups` those of
--- groups, `batches` those of batches.
function M.fixed_order(places, groups, batches, tile, own, combine)
  local lane = threadIdx.x % LANES
  if lane == 0 then places:publish(tile, OWN, own) end
  local group, batch = tile // LANES, tile // (LANES * LANES)
  local n_tiles, n_groups = tile % LANES, group % LANES
  local tiles = part_of(places, tile - n_tiles, n_tiles, combine)
  if n_tiles == LANES - 1 and lane == 0 then groups:publish(group, OWN, combine(tiles, own)) end
  local before = part_of(groups, group - n_groups, n_groups, combine)
  local earlier = nothing(places)
  if batch > 0 then
    local _, found = batches:read(batch - 1)
    earlier = found
  end
  before = joined(batch > 0, earlier, n_groups > 0, before, combine)
  before = joined(tile >= LANES, before, n_tiles > 0, tiles, combine)
  if n_tiles == LANES - 1 and n_groups == LANES - 1 and lane == 0 then
    batches:publish(batch, ALL, combine(before, own))
  end
  return before
end

return M
