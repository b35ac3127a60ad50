-- gemm_hopper_tail.lua: groups of K in the kernel of gemm_hopper.lua. TMA brings whole tiles of K,
-- from where a group begins. Of its last tile, what is another group's becomes 0 in both operands'
-- slot, by warps of the group that loads: only then the slot is full for those that multiply. An
-- empty group has one tile, of zeros. K is not what is contiguous, so a group may begin anywhere.
local grouping = require "cuttle.gemm_groups"
local turns = require "cuttle.gemm_hopper_turn"
local M = {}

local WARP <const>, CLEARERS <const> = 32, 3
local VECTOR_BITS <const> = 128

--- Why a configuration does not multiply groups of K of such a problem; nil: it does.
function M.trouble(config, p)
  if p.dtype.bits ~= 16 or p.a_major == "k" or p.b_major == "k" then
    return "TMA begins at multiples of 16 bytes, and groups of K begin anywhere: A and B have to "
      .. "be contiguous along M and N, and of 16 bits"
  elseif config.schedule == "ping-pong" then
    return "its groups would have tiles with other lengths of K"
  end
end

--- The part of a tile of matrix l of C: its group of K.
function M.part(variant, block, l)
  local group, bK = grouping.group(block.ends, l, block.extent), variant.tile[3]
  return { panel = l, first = group.first, rows = group.rows,
           k_tiles = max(cdiv(group.rows, bK), 1) }
end

--- What is waited for in place of the slots' own barriers, as gemm_hopper_turn.lua has it.
function M.begin(variant, columns)
  return { columns = columns, full = mbarrier(variant.stages, CLEARERS) }
end

-- Elements of a slot (rows,K) from row `first` of K on become 0.
local function clear_from(slot, first)
  local dtype = slot.dtype
  local n = VECTOR_BITS // dtype.bits
  local wide, zeros = atom("UniversalCopy<u128>", dtype), fragment(dtype, n)
  clear(zeros)
  local vectors = size(slot, 0) // n
  for i in range(threadIdx.x - WARP, vectors * (size(slot, 1) - first), CLEARERS * WARP) do
    copy(wide, zeros, tile(slot(_, first + i // vectors), {n}, {i % vectors}))
  end
end

--- What the warps of the group that loads do which do not load.
function M.clear_all(variant, block, each_tile)
  local bK = variant.tile[3]
  turns.each_slot(variant, block, each_tile, function(slot, k, part)
    local own = part.rows - k * bK
    if own < bK then
      clear_from(block.rows(_, _, slot), own)
      clear_from(block.columns(_, _, slot), own)
      fence_proxy_async()
    end
  end)
end

return M
