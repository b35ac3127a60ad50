-- gemm_hopper_walk.lua: in the kernel of gemm_hopper.lua, a block's way through the tiles of C: of
-- one batch or all of them, of panels, or of groups.
local grouping = require "cuttle.gemm_groups"
local lists = require "cuttle.lists"
local rasters = require "cuttle.raster"
local store = require "cuttle.gemm_hopper_store"
local streams = require "cuttle.gemm_hopper_stream"
local tail = require "cuttle.gemm_hopper_tail"
local M = {}

local GROUP_OF_TILES <const> = 16 -- rows of tiles that are walked together

-- {====== On the host ======

-- How much of the rounds that all multiprocessors make has tiles.
local function filled(p, m_tile, n_tile)
  local rounds = cdiv(p.m, m_tile) * cdiv(p.n, n_tile) * p.l / p.n_sms
  return rounds / math.max(math.ceil(rounds), 1), rounds
end

local NARROWER <const>, GAIN <const> = 0.93, 1.05 -- of 192 columns to 256; what is worth a change
local LEAST_K <const> = 2048

--- Do tiles of 192x128 fill the rounds so much better than those of 256x128 that they are faster?
--- That was measured, of 16 bits and contiguous along K.
function M.fills_better(p)
  if p.groups or p.nested or p.majors ~= "TN" or p.k < LEAST_K then return false end
  local wide, rounds = filled(p, 256, 128)
  return rounds > 1 and NARROWER * (filled(p, 192, 128)) > GAIN * wide
end

-- {====== In a kernel ======

--- The block's way through the tiles: (row, column) of those of a cluster. `order` is Hilbert's.
function M.begin(variant, plan, C, order)
  local tiles = { cdiv(cdiv(size(C, 1), variant.tile[2]), plan.high),
                  cdiv(size(C, 0), store.width(variant)) }
  return { tiles = tiles, order = order or variant.order, group = variant.group or nil,
           cluster = variant.cluster }
end

-- Those of all batches or groups of K, one after another.
local function each_tile_of_batches(variant, block, start, step, f)
  local tiles = block.walk.tiles
  local n = tiles[1] * tiles[2]
  for i in range(blockIdx.x + start * gridDim.x, n * block.batches, step * gridDim.x) do
    local row, column = rasters.place({ tiles = tiles, order = "groups",
                                       group = block.walk.group or GROUP_OF_TILES }, i % n)
    f(row, column, variant.grouped and tail.part(variant, block, i // n) or { panel = i // n })
  end
end

--- Calls f(row, column, part) for every `step`th of the block's tiles. The part of C is nil where
--- it has none; else row and column count its tiles. It is a panel, a batch, or a group: these are
--- of rows, as what is adjacent in memory begins where TMA can.
function M.each_tile(variant, block, start, step, f)
  if variant.batched then return each_tile_of_batches(variant, block, start, step, f) end
  if block.stream then
    local tiles, group = block.walk.tiles, block.walk.group or GROUP_OF_TILES
    return streams.each_tile({ tiles = tiles, group = group }, block.all_k_tiles, f)
  end
  local way = lists.with(block.walk, { start = start, step = step })
  if not variant.grouped then
    for row, column in raster(way) do
      if block.panels then
        local part = block.panels:part(row)
        f(part.row, column, part)
      else
        f(row, column)
      end
    end
    return
  end
  local columns, high = way.tiles[2], variant.tile[2]
  local x = blockIdx.x + start * gridDim.x
  grouping.each_tile({ ends = block.ends, extent = block.extent, rows = high, times = columns },
    x, step * gridDim.x,
    function(group, i)
      local row, column = rasters.place({ tiles = { cdiv(group.rows, high), columns },
                                         order = "groups", group = way.group or GROUP_OF_TILES }, i)
      f(row, column, group)
    end)
end

return M
