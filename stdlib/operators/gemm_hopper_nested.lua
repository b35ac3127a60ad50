-- gemm_hopper_nested.lua: how the warp group that loads for gemm_hopper.lua brings tiles of nested
-- matrices, and rows of groups by an index, which TMA does not copy: all its threads gather them by
-- cp.async (gemm_nested.lua). A slot is full when TMA has brought its part, if there is one, and
-- each thread has said that its copies are there, which it does LAG tiles of K later.
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local nested = require "cuttle.gemm_nested"
local store = require "cuttle.gemm_hopper_store"
local M = {}

local GROUP <const> = 128 -- threads of a warp group
local LINE_BITS <const>, VECTOR_BITS <const> = 1024, 128 -- of a swizzled line, of a copy
local LAG <const> = 2 -- tiles of K on their way to a thread's slots

--- Why the kernel cannot take a problem's nested matrices, or cannot do without any; nil: it can.
function M.trouble(config, p)
  if config.boxes then return store.boxes_trouble(config, p) end
  local is_stored = p.glu or p.rows and p.rows.scatter -- as TMA brings it, or row by row
  local is_nested = p.nested and (p.nested.A or p.nested.B or not is_stored)
  if not config.gathers then
    return is_nested and "it copies with TMA, which needs one stride per mode" or nil
  elseif not is_nested then
    return "it gathers what has modes with more than one stride, and no mode has"
  elseif p.nested.C and not is_stored then
    return "it stores C with TMA, which supports no mode with more than one stride"
  end
  for _, name in ipairs { "A", "B" } do
    local n = p.nested[name]
    if n and n * p.dtype.bits ~= VECTOR_BITS then
      return ("it gathers 16 bytes at once, but only %d are adjacent"):format(n * p.dtype.bytes)
    end
  end
end

--- How many arrivals make a slot full: that of the thread that issues TMA, and those of threads.
function M.arrivals(variant)
  local by_threads = variant.nested_A or variant.nested_B
  local by_tma = not (variant.nested_A and variant.nested_B)
  return (by_threads and GROUP or 0) + (by_tma and 1 or 0)
end

-- What copies tiles (rows,bK) of an operand, contiguous along K or along its rows.
local function copier(variant, major, rows)
  local dtype, bK = variant.dtype, variant.tile[3]
  local vec = VECTOR_BITS // dtype.bits
  local one = atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype)
  if major == "k" then
    local across = bK // vec
    return tiled_copy(one, row_major{GROUP // across, across}, row_major{1, vec})
  end
  local along = math.min(rows, LINE_BITS // dtype.bits) // vec
  return tiled_copy(one, layout{along, GROUP // along}, layout{vec, 1})
end

--- An operand as TMA brings it; major: what is contiguous in it.
function M.by_tma(variant, matrix, major)
  return tma_tensor(matrix, variant.fetch and major == "k" and {promotion = variant.fetch} or nil)
end

-- How an operand (rows,bK) comes in: begin(i) is for tile number i of its rows, and returns what
-- copies tile k of K to a slot.
local function gatherer(variant, name, matrix, ring)
  local major = name == "A" and variant.a_major or variant.b_major
  local rows = size(ring, 0)
  local thr = copier(variant, major, rows):get_slice(threadIdx.x)
  local to, extent = thr:partition_D(ring), {rows, variant.tile[3]}
  return function(i)
    local places = thr:partition_S(nested.tiles(variant, name, matrix, extent, i))
    local bring = nested.bringer(variant, name, matrix, places)
    return function(k, slot) bring(k, to(_, _, _, slot)) end
  end
end

-- The same by TMA, of which one thread issues the copies.
local function loader(matrix, extent, ring)
  local boxes = tile(matrix, extent, {_, _})
  return function(i)
    return function(k, slot, full)
      if threadIdx.x == 0 then tma_load(boxes(_, _, i, k), ring(_, _, slot), full) end
    end
  end
end

-- The slots of tiles that were begun LAG before: says of each that this thread's copies are there.
local function announcer(variant, block)
  local state = pipeline_state(variant.stages)
  return function()
    fence_proxy_async()
    block.full[state.slot]:arrive()
    state:advance()
  end
end

-- What begins tiles of a group: its rows of X, which are its own or by an index, and its Y.
local function of_group(variant, block, X, Y, group)
  local bM, bK = variant.tile[1], variant.tile[3]
  local index, boxes = block.by.gather, M.by_tma(variant, Y, variant.a_major)
  local rows = index and indexed.part(X(_, _, 0), 0, index, group)
    or grouping.part(X(_, _, 0), 0, group)
  return gatherer(variant, "B", rows, block.rows),
    loader(rank(boxes) == 2 and boxes or boxes(_, _, group.g), {bM, bK}, block.columns)
end

--- All tiles of X, whose rows are B's, and of Y, whose rows are A's, as slots become empty: for all
--- threads of the group. each_tile(f) calls f(row, column, group), the group nil where there are
--- none.
function M.load_all(variant, plan, block, X, Y, each_tile)
  local bM, bN, bK = table.unpack(variant.tile)
  local function of(name, matrix, rows, ring)
    local l = block.l
    if variant["nested_" .. name] then return gatherer(variant, name, matrix(_, _, l), ring) end
    local boxes = tma_tensor(matrix)
    return loader(rank(boxes) == 2 and boxes or boxes(_, _, l), {rows, bK}, ring)
  end
  local begin_X, begin_Y
  if not variant.grouped then
    begin_X, begin_Y = of("B", X, bN, block.rows), of("A", Y, bM, block.columns)
  end
  local bytes = plan.tma_bytes
  local state = pipeline_state(variant.stages, {parity = 1}) -- all slots are empty at first
  local announce, n_begun = announcer(variant, block), 0
  each_tile(function(row, column, group)
    local from_X, from_Y = begin_X, begin_Y
    if group ~= nil then from_X, from_Y = of_group(variant, block, X, Y, group) end
    local bring_X, bring_Y = from_X(row), from_Y(column)
    for k in range(block.k_tiles) do
      local slot = state.slot
      local full = block.full[slot]
      block.empty[slot]:wait(state.parity)
      if bytes > 0 and threadIdx.x == 0 then full:arrive_expect_tx(bytes) end
      bring_X(k, slot, full)
      bring_Y(k, slot, full)
      cp_async_commit()
      cp_async_wait(LAG)
      if n_begun >= LAG then announce() end
      n_begun = n_begun + 1
      state:advance()
    end
  end)
  cp_async_wait(0)
  for _ in range(min(n_begun, LAG)) do announce() end
end

return M
