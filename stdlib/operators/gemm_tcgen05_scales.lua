-- gemm_tcgen05_scales.lua: operands with scales of 16 or 32 elements of K (MXFP8, MXFP4, NVFP4) in
-- gemm_tcgen05.lua. Warps of their own bring the scales of a tile to each stage of the ring, in the
-- order in which cuBLAS has them, 512 bytes for 128 rows; the thread that multiplies copies them on
-- to tensor memory. Each stage has its own columns there: the loaders fill a stage when the
-- products that read it are done, and so a copy never overtakes one of these. Of a pair each block
-- brings the scales of its own rows, and of all columns.
local scaling = require "cuttle.gemm_scales"
local store = require "cuttle.gemm_hopper_store"
local tiles = require "cuttle.tiles"
local M = {}

local WARP <const>, ROWS <const>, WORD_BITS <const> = 32, 128, 32
local ORDER <const> = L"((32,4),4):((16,4),1)"        -- 128 rows by 4 scales, in 512 bytes

--- The threads of a configuration that bring scales.
function M.n_threads(config) return (config.scale_warps or 0) * WARP end

-- Scales of a row in a tile of K.
local function depth_of(config, block) return config.tile[3] // block end

--- Bytes of the scales in shared memory, of all stages.
function M.bytes(config, dtype)
  if not config.scale_warps then return 0 end
  local block = dtype.bits == 4 and 16 or 32
  return (config.tile[1] + config.tile[2]) * depth_of(config, block) * config.stages
end

--- Why a configuration does not multiply a problem with these scales; nil: it does.
function M.trouble(config, p)
  if not config.scale_warps then
    return scaling.is_deep(p) and "sums in tensor memory have no scales of blocks of K" or nil
  elseif not scaling.is_fine(p) then
    return "it multiplies what has scales of 16 or 32 of K (f8ue4m3, f8ue8m0)"
  elseif p.k % M.per_word(p.dtype) ~= 0 then
    return ("floats of 4 bits are loaded in words of 8, and K is %d"):format(p.k)
  end
end

--- Elements that TMA and the instruction take as one: floats of 4 bits are words of 8.
function M.per_word(dtype) return dtype.bits == 4 and WORD_BITS // dtype.bits or 1 end

--- An operand as the kernel takes it.
function M.in_words(t) return t.dtype.bits == 4 and recast(t, u32) or t end

--- The name of the instruction for rows x columns.
function M.atom(variant, rows, columns)
  local high = variant.cluster or 1
  if rows ~= ROWS * high or columns ~= ROWS then
    tiles.fail("matmul", "a configuration with scale_warps multiplies tiles of %dx%d at a time; "
      .. "expected 128x128, or 128x256 of pairs", columns, rows)
  end
  local of, name = variant.scales.A, variant.dtype.name
  local is_f4 = variant.dtype.bits == 4
  local kind, pair = is_f4 and "MXF4" or "MXF8F6F4", high == 2 and "_2x1SM" or ""
  return ("SM100_MMA_%s%s_SS<%s,%s,f32,%s,%d,%d%s>"):format(kind, pair, name, name, of.dtype.name,
    rows, columns, is_f4 and "," .. of.block or "")
end

-- {====== In the kernel ======

-- One operand's: in global memory, in the ring, and in tensor memory. is_wide: four are read as a
-- word.
local function side_of(variant, from, is_wide)
  local of = variant.scales.A
  local extents = { ROWS, depth_of(variant, of.block), variant.stages }
  local ring = shared(of.dtype, tile_to_shape(ORDER, extents))
  local side = { ring = ring, to = ring, columns = tmem(of.dtype, extents),
                 last = cdiv(size(from, 0), ROWS) - 1 }
  if is_wide then from, side.to = recast(from, u32), recast(ring, u32) end
  side.from = variant.ragged and guard(from) or from
  return side
end

--- The scales of the instruction's rows and columns.
function M.begin(variant, rows, columns)
  return { rows = side_of(variant, rows, variant.scales.B.wide),
           columns = side_of(variant, columns, variant.scales.A.wide) }
end

-- Thread `row` of 128 brings those of its row.
local function bring(side, at, k, l, row, slot)
  local depth = size(side.to, 1)
  local from = tile(store.of_batch(side.from, l), { ROWS, depth }, { at, k })
  for j in range(depth) do side.to[{ row, j, slot }] = from[{ row, j }] end
end

--- What the threads of scale_warps do, of which thread `own` is one: each_tile(f) as the loader's.
function M.load_all(variant, block, own, each_tile)
  local high = block.plan.high
  local state = pipeline_state(variant.stages, { parity = 1 }) -- all slots are empty at first
  each_tile(function(row, column, l)
    local own_row = row
    if high == 2 then -- of a block that lies outside no sum is stored
      own_row = min(row * 2 + cluster_rank(), block.scales.rows.last)
    end
    for k in range(block.k_tiles) do
      local slot = state.slot
      block.empty[slot]:wait(state.parity)
      for first = 0, ROWS - 1, M.n_threads(variant) do
        bring(block.scales.rows, own_row, k, l, first + own, slot)
        bring(block.scales.columns, column, k, l, first + own, slot)
      end
      fence_proxy_async() -- copies to tensor memory read by another path
      if high == 2 then block.full[slot]:arrive(0) else block.full[slot]:arrive() end
      state:advance()
    end
  end)
end

-- One slot's to tensor memory.
local function send(cp, side, slot)
  copy(cp, cp:partition_S(side.ring(_, _, slot)), cp:partition_D(side.columns(_, _, slot)))
end

--- For the thread that multiplies: a function of a slot that copies its scales to tensor memory and
--- returns those of the instruction's A and B.
function M.copier(block, thr)
  local rows, columns = block.scales.rows, block.scales.columns
  local high = block.plan.high
  local of_rows = thr:partition_SFA(high == 2 and pair_tile(rows.columns) or rows.columns)
  local of_columns = thr:partition_SFB(columns.columns) -- each block of a pair has all of these
  local cp = tmem_copy(("SM100_UTCCP_4x32dp128bit_%dcta"):format(high), rows.columns):get_slice(0)
  return function(slot)
    tcgen05_after_thread_sync() -- what read these columns is done
    send(cp, rows, slot)
    send(cp, columns, slot)
    return of_rows(_, _, _, slot), of_columns(_, _, _, slot)
  end
end

--- Gives their tensor memory back.
function M.free(block)
  tmem_dealloc(block.scales.rows.columns)
  tmem_dealloc(block.scales.columns.columns)
end

return M
