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

-- What begins tiles of a row of tiles, of a group of rows or nil: a function that brings step k of
-- codes, as a slot becomes empty. For one thread.
local function codes_loader(variant, plan, rings, block, args)
  local state = pipeline_state(variant.depth, {parity = 1})
  local span = max(plan.step, variant.rows_of_group)
  return function(row, group)
    local first = row * plan.strips
    if group then first = first + group.g * args.n_strips end
    local function boxes_of(name)
      local ring = rings[name]
      return tile(domain_offset({0, 0, first}, tma_tensor(args[name])),
        {size(ring, 0), size(ring, 1), plan.strips}, {0, _, 0})
    end
    local codes, scales = boxes_of "codes", boxes_of "scales"
    local zeros = rings.zeros and boxes_of "zeros"
    return function(k)
      local slot, full = state.slot, block.coded_full[state.slot]
      block.coded_empty[slot]:wait(state.parity)
      full:arrive_expect_tx(plan.coded_bytes)
      local at = block.k_first and block.k_first + k or k
      tma_load(codes(_, _, _, at), rings.codes(_, _, _, slot), full)
      tma_load(scales(_, _, _, at * plan.step // span), rings.scales(_, _, _, slot), full)
      if zeros then
        tma_load(zeros(_, _, _, at * plan.step // span), rings.zeros(_, _, _, slot), full)
      end
      state:advance()
    end
  end
end

local function load_codes(block, loader)
  M.each_tile(block, 0, 1, function(row, column, group) -- luacheck: ignore 212
    local bring = loader(row, group)
    for k in range(block.k_tiles) do bring(k) end
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
  local i, loader = threadIdx.x % GROUP, codes_loader(variant, plan, rings, block, args)
  if i == 0 then load_activations(variant, plan, rings, block, X) end
  if i == WARP then load_codes(block, loader) end
end

return M
