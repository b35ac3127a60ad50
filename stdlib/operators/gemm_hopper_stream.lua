-- gemm_hopper_stream.lua: Stream-K in the kernel of gemm_hopper.lua, for tiles of C that do not
-- fill the last round of blocks. Blocks take tiles in turn as ever until the last round in which
-- all blocks have a tile. The steps along K of that round's tiles and of the rest form one
-- sequence, of which each block takes an equal part, of one tile at least. A tile inside of which a
-- part ends is shared by two blocks: the first has the steps up to there. It multiplies them before
-- all else, and hands its sums on; the second multiplies the rest after all else, waits for a flag,
-- and adds them. So hardly any block waits, and each waits only for one of a lower number, which
-- began before it. The order of additions depends on sizes and on how many blocks there are.
local on_device = require "cuttle.operator_device"
local rasters = require "cuttle.raster"
local launches = require "cuttle.operator_steps"
local M = {}

local GROUP <const>, WIDE <const> = 128, 4 -- threads of a warp group; numbers of an access

-- {====== On the host ======

--- Why no kernel of a configuration with stream_k computes the problem; nil: it does, or the
--- configuration is another one.
function M.trouble(config, p, n_blocks)
  if not config.stream_k then return nil end
  local bM, bN = config.tile[1], config.tile[2]
  if p.groups or p.nested or p.l > 1 then
    return "blocks share tiles of one matrix with one stride per mode"
  elseif p.beta ~= 0 then
    return "blocks that share tiles do not read C"
  elseif cdiv(p.m, bM) * cdiv(p.n, bN) < n_blocks then
    return ("there are fewer tiles than its %d blocks"):format(n_blocks)
  end
end

local function words_of(groups, n_blocks) return cdiv(groups * n_blocks, WIDE) * WIDE end

--- The step that makes the kernel's flags 0 before each launch, and the memory that the kernel
--- takes: a flag for each warp group of a block, then the sums that blocks hand on.
function M.before(config, p, n_blocks, groups, stream)
  local words = words_of(groups, n_blocks)
  local numbers = config.tile[1] * config.tile[2] * n_blocks
  local room = on_device.scratch(p.device, f32, words + numbers)
  local clear = launches.clear(view(room, words))
  clear.launch.stream = stream
  return clear, room
end

-- {====== In a kernel ======

--- {flags (group,block) =, sums =} of that memory, for blocks with so many groups.
function M.begin(room, groups)
  local n_blocks = gridDim.x
  local words = words_of(groups, n_blocks)
  return { flags = recast(view(room, layout{groups, n_blocks}), u32),
           sums = view(room, size(room) - words, words) }
end

-- Where block b's part of the shared steps begins.
local function begin_of(b, steps) return i32(cast(b, i64) * steps // gridDim.x) end

--- Calls f(row, column, part) for each of the block's tiles, of {tiles =, group =}; part: {k_first
--- =, k_tiles = the steps of K; hands_on =, takes = is it the first part of a tile, or the last?}.
function M.each_tile(walk, k_tiles, f)
  local b, n_blocks = blockIdx.x, gridDim.x
  local n_tiles = walk.tiles[1] * walk.tiles[2]
  local rounds = max(n_tiles // n_blocks - 1, 0)
  local first_shared = rounds * n_blocks
  local steps = (n_tiles - first_shared) * k_tiles
  local from, to = begin_of(b, steps), begin_of(b + 1, steps)
  local head, tail = to % k_tiles, from % k_tiles -- steps of a tile before an end
  local n_heads, n_tails = where(head > 0, 1, 0), where(tail > 0, 1, 0)
  local whole = cdiv(from, k_tiles) -- the first tile that is the block's alone
  local n_whole = to // k_tiles - whole
  local n = n_heads + rounds + n_whole + n_tails
  for i in range(n) do
    local at = i - n_heads
    local is_tail = at >= rounds + n_whole
    local tile = where(at < rounds, at * n_blocks + b, first_shared + whole + at - rounds)
    tile = where(at < 0, first_shared + to // k_tiles, tile)
    tile = where(is_tail, first_shared + from // k_tiles, tile)
    local first = where(is_tail, tail, 0)
    local row, column = rasters.place({ tiles = walk.tiles, order = "groups",
                                       group = walk.group }, tile)
    f(row, column, { k_first = first, k_tiles = where(at < 0, head, k_tiles) - first,
                     hands_on = at < 0, takes = is_tail })
  end
end

local function in_fours(sums) return view(sums, layout{WIDE, size(sums) // WIDE}) end

-- The block's room, for a thread with such sums (4,V/4).
local function room_of(stream, block, sums)
  local n, across = size(sums), blockDim.x - GROUP
  return view(stream.sums, layout({WIDE, n // WIDE}, {1, WIDE * across}),
    (threadIdx.x - GROUP) * WIDE + block * across * n)
end

--- Stores the sums of a first part, and says so. `together` is the barrier of the warp group.
function M.hand_on(stream, sums, group, together)
  copy(in_fours(sums), room_of(stream, blockIdx.x, sums))
  fence()
  together:sync()
  if threadIdx.x % GROUP == 0 then atomic_store(stream.flags, {group, blockIdx.x}, u32(1)) end
end

--- Adds the sums of the block before, when they are there.
function M.take(stream, sums, group, together)
  local other = blockIdx.x - 1
  if threadIdx.x % GROUP == 0 then
    while atomic_load(stream.flags, {group, other}) == u32(0) do end
  end
  together:sync()
  axpby(1.0, room_of(stream, other, sums), 1.0, in_fours(sums))
end

return M
