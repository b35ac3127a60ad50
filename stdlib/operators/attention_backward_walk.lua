-- attention_backward_walk.lua: blocks of attention_backward_hopper.lua that stay: as many as there
-- are multiprocessors. Each takes one tile of keys after the other, so the next one's keys, values
-- and first queries are loaded while the last one's sums are stored. The first tile of a block is
-- the one with its number. Then the thread that loads takes the next tile that nobody has, by a
-- counter in global memory, and tells the other warps in shared memory.
local arrive = require "cuttle.warp_arrive"
local n_sms = require "cuttle.profile_device".n_sms
local on_device = require "cuttle.operator_device"
local tail = require "cuttle.attention_backward_tail"
local tiles_of = require "cuttle.attention_backward_tiles"
local M = {}

local SLOTS <const> = 2

local function sms_of(p, config) return config.n_sms or n_sms(on_device.target(p.device)) end

--- Do blocks stay, of n_tiles tiles of keys?
function M.is_for(p, config, n_tiles)
  if p.causal or p.deterministic or p.sequences or p.score then return false end
  return (config.stay and n_tiles > sms_of(p, config)) and true or false
end

--- How many stay.
function M.n_blocks(p, config) return sms_of(p, config) end

-- {====== In a kernel ======

--- What the block's warps share: the numbers of tiles. `readers` are the warps that do not load.
function M.new(readers)
  return { numbers = shared(i32, SLOTS), full = mbarrier(SLOTS, 1),
           empty = mbarrier(SLOTS, readers) }
end

-- What is to be known of tile `number`.
local function own_of(variant, args, number)
  local own
  if variant.tail then
    own = tail.place(variant, args, number)
  else
    local n, kv_head, batch = tiles_of.place_of(number, args.n_blocks, args.kv_heads)
    own = { n = n, kv_head = kv_head, batch = batch }
  end
  own.b = own.batch
  return setmetatable(own, { __index = args })
end

local function n_tiles(variant, args)
  local n = args.n_blocks * args.kv_heads * size(args.K, 3)
  if not variant.tail then return n end
  return args.n_whole + (n - args.n_whole) * args.n_parts
end

--- Calls f(args) for each tile of the block, by the thread that loads.
function M.each_tile(variant, args, shared_numbers, f)
  local s, state = shared_numbers, pipeline_state(SLOTS, {parity = 1})
  local number = cast(blockIdx.x, i32)
  while number < n_tiles(variant, args) do
    local taken = atomic_add(args.ready, size(args.ready) - 1, 1) + cast(gridDim.x, i32)
    f(own_of(variant, args, number))
    s.empty[state.slot]:wait(state.parity)
    s.numbers[state.slot] = taken
    s.full[state.slot]:arrive()
    state:advance()
    number = taken
  end
end

--- The same by a warp that is told.
function M.each_told_tile(variant, args, shared_numbers, f)
  local s, state = shared_numbers, pipeline_state(SLOTS)
  local number = cast(blockIdx.x, i32)
  while number < n_tiles(variant, args) do
    f(own_of(variant, args, number))
    s.full[state.slot]:wait(state.parity)
    number = tiles_of.of_first_lane(s.numbers[state.slot])
    arrive(s.empty[state.slot])
    state:advance()
  end
end

return M
