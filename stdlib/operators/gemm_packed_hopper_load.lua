-- gemm_packed_hopper_load.lua: the way of gemm_packed_hopper.lua's blocks through their tiles, and
-- their group that loads: one thread brings codes and scales by TMA, and another one activations.
local grouping = require "cuttle.gemm_groups"
local rasters = require "cuttle.raster"
local M = {}

local GROUP <const>, WARP <const> = 128, 32
local TOGETHER <const> = 16 -- rows of tiles

--- Calls f(row, column, group) of the block's tiles, of n that follow each other for number `own`:
--- columns first, which share the weight; of many columns some rows of tiles at a time.
function M.each_tile(block, own, n, f)
  local first, step = blockIdx.x + own * gridDim.x, n * gridDim.x
  if block.way then
    grouping.each_tile(block.way, first, step, function(group, i)
      local n_columns = cdiv(group.rows, block.way.rows)
      f(i // n_columns, i % n_columns, group)
    end)
    return
  end
  if block.tile ~= nil then
    f(block.tile // block.n_columns, block.tile % block.n_columns)
    return
  end
  for i in range(first, block.n_tiles, step) do
    if block.in_groups then
      f(rasters.place({ tiles = block.tiles, order = "groups", group = TOGETHER }, i))
    else
      f(i // block.n_columns, i % block.n_columns)
    end
  end
end

-- Codes, scales and zero points of the rows of each tile.
local function load_codes(variant, plan, rings, block, args)
  local state, span = pipeline_state(variant.depth, {parity = 1}),
    max(plan.step, variant.rows_of_group)
  M.each_tile(block, 0, 1, function(row, column, group) -- luacheck: ignore 212
    local first = row * plan.strips
    if group then first = first + group.g * args.n_strips end
    local function bring(name, at, full)
      local ring = rings[name]
      local boxes = tile(domain_offset({0, 0, first}, tma_tensor(args[name])),
        {size(ring, 0), size(ring, 1), plan.strips}, {0, _, 0})
      tma_load(boxes(_, _, _, at), ring(_, _, _, state.slot), full)
    end
    for k in range(block.k_tiles) do
      local full, at = block.coded_full[state.slot], block.k_first and block.k_first + k or k
      block.coded_empty[state.slot]:wait(state.parity)
      full:arrive_expect_tx(plan.coded_bytes)
      bring("codes", at, full)
      bring("scales", at * plan.step // span, full)
      if rings.zeros then bring("zeros", at * plan.step // span, full) end
      state:advance()
    end
  end)
end

local function load_activations(variant, plan, rings, block, X)
  if variant.pdl and not variant.grouped then grid_dependency_wait() end
  local box, all = {plan.columns, plan.line}, tma_tensor(X)
  local state = pipeline_state(variant.stages, {parity = 1})
  M.each_tile(block, 0, 1, function(row, column, group) -- luacheck: ignore 212
    local boxes = tile(group and domain_offset({group.first, 0}, all) or all, box, {_, _})
    for k in range(block.k_tiles) do
      block.empty[state.slot]:wait(state.parity)
      block.full[state.slot]:arrive_expect_tx(plan.bytes)
      local at, lines = block.k_first and block.k_first + k or k, variant.lines or 1
      for i = 0, lines - 1 do
        tma_load(boxes(_, _, column, at * lines + i),
          tile(rings.acts(_, _, state.slot), box, {0, i}), block.full[state.slot])
      end
      state:advance()
    end
  end)
end

--- What the threads of the group do. args: {codes =, scales =, zeros =, n_strips =} of the weight.
function M.load(variant, plan, rings, block, X, args)
  local i = threadIdx.x % GROUP
  if i == 0 then load_activations(variant, plan, rings, block, X) end
  if i == WARP then load_codes(variant, plan, rings, block, args) end
end

return M
