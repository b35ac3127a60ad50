-- attention_hopper_narrow.lua: what attention_hopper.lua does with operands of 8 bits, f8e4m3, that
-- it does not do with those of 16.
--
-- wgmma takes operands of 8 bits only with K contiguous, and K of the product with the values is
-- the keys. So three warps of the group that loads, the turners, transpose each block of values in
-- shared memory, from one ring of blocks to another.
--
-- Of 16 columns of scores, a thread has columns 2c, 2c + 1, 8 + 2c and 9 + 2c, where c is its
-- number among the four of a row. As operand A of 8 bits, it is to have 4c to 4c + 3. The sum over
-- the keys is the same in any order, if it is the same order for P and V. So P stays where it is,
-- and the turners put key 8b + 2c + i of 16 at place 4c + 2b + i. This costs nothing: they read
-- four rows and write words of four keys anyway.
local tables = require "cuttle.attention_tiles"
local M = {}

local WARP <const>, TURNERS <const> = 32, 3
local KEYS <const>, WORDS <const>, TURNS <const> = 64, 8, 4 -- of a warp's step in turn_block

--- Warps that transpose values, which arrive at barriers for them.
M.n_turners = TURNERS

--- The atoms' types, and the bytes of a swizzled row of so many elements of depth.
M.kind, M.tail, M.depth = "F32E4M3E4M3", "_TN", 32

function M.raw_stages(variant) return variant.raw_stages or variant.stages end

function M.line(depth) return depth % 128 == 0 and 128 or 64 end

--- The fragment of P, operand A of the tiled MMA `PV`, for a tile of rows and keys; and views with
--- the same order of elements, of it and of the scores S.
function M.new_P(PV, S, rows, keys)
  local steps = keys // 32
  local P = fragment(f8e4m3, PV:partition_shape_A{ rows, keys })
  local shape = { { 2, 2, { 2, 2, steps } }, 1, 1 }
  return P, view(P, layout(shape, { { 1, 4, { 2, 8, 16 } }, 0, 0 })),
    view(S, layout(shape, { { 1, 2, { 4, 8, 16 } }, 0, 0 }))
end

-- {====== Transposing values ======

-- Four words of four bytes each: byte j of word i becomes byte i of word j.
local function transposed(a, b, c, d)
  local low, high = u32(0x5140), u32(0x7362)
  local ab, ab_high = byte_perm(a, b, low), byte_perm(a, b, high)
  local cd, cd_high = byte_perm(c, d, low), byte_perm(c, d, high)
  local first, second = u32(0x5410), u32(0x7632)
  return byte_perm(ab, cd, first), byte_perm(ab, cd, second), byte_perm(ab_high, cd_high, first),
    byte_perm(ab_high, cd_high, second)
end

-- Values (keys,depth) to (depth,keys), the keys in the order that is said above. Keys from n_own on
-- are another's, and become zeros; nil: there are none. A lane has four bytes of four rows. Lanes
-- are spread over rows and columns so that neither reads nor writes have bank conflicts.
local function turn_block(raw, turned, n_own)
  local from, to = recast(raw, u32), recast(turned, u32) -- (keys,depth / 4), (depth,keys / 4)
  local across = size(from, 1) // WORDS
  local warp, lane = threadIdx.x // WARP - 1, threadIdx.x % WARP
  local c, odd, u = lane % 4, lane // 4 % 2, lane // 8
  for step in range(warp, size(from, 0) // KEYS * across * TURNS, TURNERS) do
    local turn, part = step % TURNS, step // TURNS
    local column = odd + 2 * ((u + turn) % TURNS) + WORDS * (part % across)
    local group = u + 4 * (part // across) -- of 16 keys
    local function word(key)
      key = 16 * group + 2 * c + key
      local x = from[{ key, column }]
      if n_own ~= nil then x = where(key < n_own, x, u32(0)) end
      return x
    end
    for i, x in ipairs { transposed(word(0), word(1), word(8), word(9)) } do
      to[{ 4 * column + i - 1, 4 * group + c }] = x
    end
  end
end

--- The turners' part of a kernel; each_tile(f) calls f(tile) for each tile of the block.
function M.turn_all(variant, smem, bars, each_tile)
  local raw = pipeline_state(M.raw_stages(variant))
  local v = pipeline_state(variant.stages, { parity = 1 })
  each_tile(function(at)
    for i in range(tables.count(at)) do
      bars.raw_full[raw.slot]:wait(raw.parity)
      bars.V_empty[v.slot]:wait(v.parity)
      turn_block(smem.raw(_, _, raw.slot), smem.V(_, _, v.slot),
        variant.packed and at.n_k - tables.block(at, i) * variant.keys or nil)
      fence_proxy_async()
      sync_warp()
      if threadIdx.x % WARP == 0 then
        bars.raw_empty[raw.slot]:arrive()
        bars.V_full[v.slot]:arrive()
      end
      raw:advance()
      v:advance()
    end
  end)
end

return M
