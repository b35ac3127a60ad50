-- gemm_packed_hopper_load.lua: the way of gemm_packed_hopper.lua's blocks through their tiles, and
-- their group that loads: one thread brings codes and scales by TMA, another one activations, and
-- a third one finds the tiles of groups where some take less time than others.
local arrive = require "cuttle.warp_arrive"
local grouping = require "cuttle.gemm_groups"
local rasters = require "cuttle.raster"
local M = {}

local GROUP <const>, WARP <const> = 128, 32
local TOGETHER <const> = 16 -- rows of tiles

-- {====== The block's tiles ======

-- Of a tile of groups: its row and column, and the group's number, first row and rows.
local FIELDS <const>, AHEAD <const> = 8, 4

--- Where one thread tells the block's others their tiles of groups, which it takes time to find:
--- so many warps, and the threads that load.
function M.new_list(n_warps)
  return { tiles = shared(i32, layout{FIELDS, AHEAD}), full = mbarrier(AHEAD, 1),
           empty = mbarrier(AHEAD, n_warps + 2) }
end

-- What that thread does. After the last tile it tells a row of -1.
local function list_tiles(block)
  local list, state = block.list, pipeline_state(AHEAD, {parity = 1})
  local function tell(...)
    list.empty[state.slot]:wait(state.parity)
    for i, x in ipairs{...} do list.tiles[{i - 1, state.slot}] = x end
    list.full[state.slot]:arrive()
    state:advance()
  end
  grouping.each_tile_by_size(block.way, blockIdx.x, gridDim.x, function(group, row, column)
    tell(row, column, group.g, group.first, group.rows)
  end)
  tell(-1, 0, 0, 0, 0)
end

-- Calls f for them; is_one: a thread does so, and else a warp.
local function each_listed(block, own, n, f, is_one)
  local list, way, state = block.list, block.way, pipeline_state(AHEAD)
  local most = grouping.most_tiles(way.extent, size(way.ends), way.rows) * way.times
  for i in range(cdiv(most, gridDim.x) + 1) do
    list.full[state.slot]:wait(state.parity)
    local told = list.tiles(_, state.slot)
    local row, column = told[0], told[1]
    local group = { g = told[2], first = told[3], rows = told[4] }
    if is_one then list.empty[state.slot]:arrive() else arrive(list.empty[state.slot]) end
    state:advance()
    if row < 0 then break end
    if n == 1 then
      f(row, column, group)
    elseif i % n == own then
      f(row, column, group)
    end
  end
end

--- Calls f(row, column, group) of the block's tiles, of n that follow each other for number `own`:
--- columns first, which share the weight; of many columns some rows of tiles at a time.
function M.each_tile(block, own, n, f, is_one)
  local first, step = blockIdx.x + own * gridDim.x, n * gridDim.x
  if block.list then return each_listed(block, own, n, f, is_one) end
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
  end, true)
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
  end, true)
end

--- What the threads of the group do. args: {codes =, scales =, zeros =, n_strips =} of the weight.
function M.load(variant, plan, rings, block, X, args)
  local i = threadIdx.x % GROUP
  if i == 0 then load_activations(variant, plan, rings, block, X) end
  if i == WARP then load_codes(variant, plan, rings, block, args) end
  if block.list and i == 2 * WARP then list_tiles(block) end
end

return M
