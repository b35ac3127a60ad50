-- gemm_hopper_transpose.lua: a kernel that copies an operand (rows,K,L) of 8 or 32 bits, contiguous
-- along its rows, to memory that is contiguous along K, as wgmma takes it. A block copies 128 rows
-- and as many of K as a swizzled line holds: TMA brings them, and stores them transposed.
local lists = require "cuttle.lists"
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local store = require "cuttle.gemm_hopper_store"
local turn = require "cuttle.gemm_hopper_turn"
local M = {}

local ROWS <const>, THREADS <const>, WARP <const>, LINE_BITS <const> = 128, 128, 32, 1024
local VECTOR_BITS <const> = 128
local GRID_Y <const> = 65535 -- blocks along K at most

local kernel_of = memo.by_arguments(function(dtype)
  local line = LINE_BITS // dtype.bits
  local panel = tile_to_shape(gmma_layout(dtype, "MN", LINE_BITS // 8), {line, line})
  local ring = tile_to_shape(panel, {ROWS, line, 1})
  return kernel("transpose_" .. dtype.name, function(from, to)
    local raw, full = shared(dtype, ring), mbarrier(1, 1)
    local turned = turn.turned(raw)
    local function box(x) -- the block's
      return tile(store.of_batch(tma_tensor(x), blockIdx.z), {ROWS, line}, {blockIdx.x, blockIdx.y})
    end
    sync_threads()
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx(ROWS * LINE_BITS // 8)
      tma_load(box(from), raw(_, _, 0), full[0])
    end
    full[0]:wait(0)
    turn.turn(raw(_, _, 0), turned(_, _, 0), threadIdx.x // WARP, THREADS // WARP)
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      tma_store(turned(_, _, 0), box(to))
      tma_store_commit()
      tma_store_wait(0)
    end
  end)
end)

local function lines_of(k, dtype) return cdiv(k, LINE_BITS // dtype.bits) end

--- Why A of a problem is not transposed; nil: it may be.
function M.trouble(p)
  if p.groups or p.nested then
    return "it transposes an operand first, for matrices with one stride per mode and without "
      .. "groups"
  elseif lines_of(p.k, p.dtype) > GRID_Y then
    return ("it transposes an operand first, of up to %d blocks along K"):format(GRID_Y)
  end
end

--- A problem whose A, contiguous along M, is transposed before. A itself is as it was.
function M.seen(p)
  local q = lists.with(p, { a_major = "k" })
  q.type_name = nil
  return q
end

-- Memory for a copy of x: rows begin where TMA can begin.
local function room_for(x, device)
  local extents, unit = shape(x), VECTOR_BITS // x.dtype.bits
  local apart = cdiv(extents[2], unit) * unit
  local strides = { apart, 1, extents[3] and extents[1] * apart }
  return on_device.scratch(device, x.dtype, layout(extents, strides))
end

--- The step that transposes x (rows,K) or (rows,K,L), and its result.
function M.before(x, device, stream)
  local dtype, extents, to = x.dtype, shape(x), room_for(x, device)
  local grid = { cdiv(extents[1], ROWS), lines_of(extents[2], dtype), extents[3] or 1 }
  return { kernel = kernel_of(dtype), args = { x, to },
           launch = { grid = grid, block = THREADS, stream = stream } }, to
end

return M
