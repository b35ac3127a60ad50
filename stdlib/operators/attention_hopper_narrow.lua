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
-- and the turners put key 8b + 2c + i of 16 at place 4c + 2b + i. This costs nothing: it is the
-- order in which ldmatrix brings them.
local tables = require "cuttle.attention_tiles"
local M = {}

local WARP <const>, TURNERS <const> = 32, 3
local KEYS <const>, COLUMNS <const> = 32, 16 -- of a warp's step in turn_block
local load <const>, store <const> = atom("SM75_U16x8_LDSM_T", u16), atom("SM90_U32x4_STSM_N", u16)

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

-- A word of two keys, the first of which is `key`; those from n_own on become 0.
local function kept(word, key, n_own)
  if n_own == nil then return word end
  return word & (where(key < n_own, u32(0xffff), u32(0))
    | where(key + 1 < n_own, u32(0xffff0000), u32(0)))
end

-- Values (keys,depth) to (depth,keys), the keys in the order that is said above. Keys from n_own on
-- are another's, and become zeros; nil: there are none. A warp takes 32 keys and 16 columns at a
-- time. ldmatrix moves pairs of bytes: a lane gets columns 2u and 2u + 1 of keys 2c and 2c + 1 of
-- each eight, where u = lane // 4. Words of one column go to rows of that column by stmatrix; the
-- rows of one of its matrices are four even columns and then four odd ones, or the other way round,
-- so that they lie in different banks.
local function turn_block(raw, turned, n_own)
  local from, to = recast(raw, u16), recast(turned, u16) -- (keys,depth / 2), (depth,keys / 2)
  local warp, lane = threadIdx.x // WARP - 1, threadIdx.x % WARP
  local across = size(raw, 1) // COLUMNS
  local n_steps = size(raw, 0) // KEYS * across
  local is_late = lane >= WARP // 2
  local first = where(is_late, u32(0x7531), u32(0x6420))
  local second = where(is_late, u32(0x6420), u32(0x7531))
  local matrix, row = lane // 8, lane % 8
  local own_column = 2 * row + (matrix ~ row // 4) % 2
  local function read(step)
    local bytes = fragment(u16, 8)
    copy(load, tile(from(KEYS * (step // across) + lane, _), {8}, {step % across}), bytes)
    return recast(bytes, u32)
  end
  local function write(step, w)
    local words, keys = fragment(u32, 4), step // across
    local key = KEYS * keys + 2 * (lane % 4)
    for group = 0, 1 do -- of 16 keys
      local a = kept(w[2 * group], key + 16 * group, n_own)
      local b = kept(w[2 * group + 1], key + 16 * group + 8, n_own)
      words[2 * group], words[2 * group + 1] = byte_perm(a, b, first), byte_perm(a, b, second)
    end
    copy(store, recast(words, u16),
      tile(to(COLUMNS * (step % across) + own_column, _), {8}, {2 * keys + matrix // 2}))
  end
  for step in range(warp, n_steps, 2 * TURNERS) do -- two at a time, so that one waits for memory
    local next_step = min(step + TURNERS, n_steps - 1)
    local words, next_words = read(step), read(next_step)
    write(step, words)
    if step + TURNERS < n_steps then write(next_step, next_words) end
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
