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
local internal = ...
local softmax = require "cuttle.attention_softmax"
local tables = require "cuttle.attention_tiles"
local M = {}

local WARP <const>, TURNERS <const> = 32, 3
local LIFT <const>, LAZY_LIFT <const> = 8, 4 -- see M.lift
local KEYS <const>, COLUMNS <const> = 32, 16 -- of an instruction in turn_block
local load <const>, store <const> = atom("SM75_U16x8_LDSM_T", u16), atom("SM90_U32x4_STSM_N", u32)

--- Warps that transpose values, which arrive at barriers for them.
M.n_turners = TURNERS

--- The atoms' types, and their K.
M.kind, M.tail, M.depth = "F32E4M3E4M3", "_TN", 32

function M.raw_stages(variant) return variant.raw_stages or variant.stages end

--- The bytes of a swizzled row of so many elements: of depth or, of transposed values, keys.
function M.line(n) return n % 128 == 0 and 128 or n % 64 == 0 and 64 or 32 end

--- The fragment of P, operand A of the tiled MMA `PV`, for a tile of rows and keys.
function M.new_P(PV, rows, keys) return fragment(f8e4m3, PV:partition_shape_A{ rows, keys }) end

local function byte_of(x) return cast(bitcast(cast(x, f8e4m3), u8), u32) end

-- Four numbers of f32 as the bytes of a word.
local function pack(x, y, z, w)
  return internal.kernel.ptx([[
    .reg .b16 low, high;
    cvt.rn.satfinite.e4m3x2.f32 low, $b, $a;
    cvt.rn.satfinite.e4m3x2.f32 high, $d, $c;
    mov.b32 $word, {low, high};
  ]], { word = u32 }, { a = x, b = y, c = z, d = w }, function(a, b, c, d)
    return byte_of(a) | byte_of(b) << 8 | byte_of(c) << 16 | byte_of(d) << 24
  end)
end

--- The scores S, rounded, to P: a word has two adjacent columns, and those 8 further on. Copied
--- byte by byte, they took 150 more instructions for 64 elements.
function M.pack(S, P)
  local s, words = view(S, layout{ size(S) }), fragment(u32, size(P) // 4)
  for j in unroll(0, size(words)) do
    local at = 2 * (j % 2) + 8 * (j // 2)
    words[j] = pack(s[at], s[at + 1], s[at + 4], s[at + 5])
  end
  copy(view(recast(words, f8e4m3), P.layout), P)
end

-- {====== The softmax of scores that are seen whole ======

--- Of a row's probabilities, the largest is 2^lift, so that few are subnormal; with `lazy` that of
--- its first block, and later ones may be as large as 8 bits hold.
function M.lift(variant) return variant.lazy and LAZY_LIFT or LIFT end

-- P becomes exp2(c S - tops), rounded, and the rows' sums grow by that before it is rounded. S
-- stays as it is. Words of a thread's two rows take turns. Two instructions make a word here; of
-- exponentials that are in S, the compiler needed three.
local function exponentiate(S, P, rows, c)
  local s, words = view(S, layout{ size(S) }), fragment(u32, size(P) // 4)
  local sums = { [0] = f32(0.0), f32(0.0) }
  for j = 0, size(words) - 1 do
    local r, at = j % 2, 2 * (j % 2) + 8 * (j // 2)
    local function of(i) return fast.exp2(s[at + i] * c - rows.tops[r]) end
    local x, y, z, w = of(0), of(1), of(4), of(5)
    sums[r] = sums[r] + x + y + (z + w)
    words[j] = pack(x, y, z, w)
  end
  for r = 0, 1 do rows.sums[r] = rows.sums[r] + sums[r] end
  copy(view(recast(words, f8e4m3), P.layout), P)
end

-- Is one of the probabilities P the largest number of f8e4m3, or NaN? They are not negative, so
-- these are bytes 0x7e and 0x7f.
local function is_beyond(P)
  local words, any = recast(P, u32), u32(0)
  for j in unroll(0, size(words)) do any = any | (words[j] + u32(0x02020202)) end
  return (any & u32(0x80808080)) ~= 0
end

-- The rows' maxima become those of S, too.
local function raise(group, c)
  return softmax.raise(group.S, group.rows, c, false, false, false, M.lift(group.variant))
end

-- P, and O fits it where the maxima have grown.
local function fit(group, c, grows)
  exponentiate(group.S, group.P, group.rows, c)
  if grows then softmax.scale_rows(group.O, group.rows.shrink) end
end

-- P as if no maximum were larger than before. Where that makes a probability too large for 8 bits,
-- the warp finds its maxima after all. Few blocks need them.
local function guess(group, c)
  local rows, before = group.rows, fragment(f32, group.rows.n)
  copy(rows.sums, before)
  exponentiate(group.S, group.P, rows, c)
  if vote_any(is_beyond(group.P)) then
    copy(before, rows.sums)
    fit(group, c, raise(group, c))
  end
end

--- P and its part of the sums, of a group of attention_hopper.lua. wait() waits for the product
--- that reads P.
function M.softmax(group, c, wait)
  local is_lazy = group.variant.lazy
  local grows = not is_lazy and raise(group, c)
  wait()
  if is_lazy then guess(group, c) else fit(group, c, grows) end
end

-- {====== Transposing values ======

-- A word of two keys, the first of which is `key`; those from n_own on become 0.
local function kept(word, key, n_own)
  if n_own == nil then return word end
  return word & (where(key < n_own, u32(0xffff), u32(0))
    | where(key + 1 < n_own, u32(0xffff0000), u32(0)))
end

-- Values (keys,depth) to (depth,keys), the keys in the order that is said above. Keys from n_own on
-- are another's, and become zeros; nil: there are none. A warp takes 32 keys of 32 columns at a
-- time, 16 columns by an instruction. ldmatrix moves pairs of bytes: a lane gets columns 2u and
-- 2u + 1 of keys 2c and 2c + 1 of each eight, where u = lane // 4. Words of one column go to rows
-- of that column by stmatrix; the rows of one of its matrices are four even columns and then four
-- odd ones, or the other way round, so that they lie in different banks.
local function turn_block(raw, turned, n_own)
  local from, to = recast(raw, u16), recast(turned, u32) -- (keys,depth / 2), (depth,keys / 4)
  local warp, lane = threadIdx.x // WARP - 1, threadIdx.x % WARP
  local n = size(raw, 0) // KEYS
  local is_late = lane >= WARP // 2
  local first = where(is_late, u32(0x7531), u32(0x6420))
  local second = where(is_late, u32(0x6420), u32(0x7531))
  local matrix, row = lane // 8, lane % 8
  local own_column = 2 * row + (matrix ~ row // 4) % 2
  local function read(part, keys)
    local bytes = fragment(u16, 8)
    copy(load, tile(tile(from, {KEYS, size(from, 1)}, {keys, 0})(lane, _), {8}, {part}), bytes)
    return recast(bytes, u32)
  end
  local function write(part, keys, w)
    local words, key = fragment(u32, 4), KEYS * keys + 2 * (lane % 4)
    for group = 0, 1 do -- of 16 keys
      local a = kept(w[2 * group], key + 16 * group, n_own)
      local b = kept(w[2 * group + 1], key + 16 * group + 8, n_own)
      words[2 * group], words[2 * group + 1] = byte_perm(a, b, first), byte_perm(a, b, second)
    end
    copy(store, words, tile(to(COLUMNS * part + own_column, _), {4}, {2 * keys + matrix // 2}))
  end
  local function turn(part, keys)
    local one, other = read(part, keys), read(part + 1, keys) -- the second while one waits
    write(part, keys, one)
    write(part + 1, keys, other)
  end
  local n_parts = size(raw, 1) // COLUMNS
  if n == TURNERS then -- a warp's keys stay the same, which is faster
    for part in range(0, n_parts, 2) do turn(part, warp) end
  else
    for unit in range(warp, n_parts // 2 * n, TURNERS) do turn(2 * (unit // n), unit % n) end
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
