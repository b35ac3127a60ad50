-- gemm_hopper_turn.lua: operands of gemm_hopper.lua that wgmma does not take as TMA brings them: of
-- other types than those of 16 bits, it takes only what is contiguous along K in shared memory.
-- Rows go to registers from where they lie. Columns are transposed in their slot, by warps of the
-- group that loads: the slot is then `turned`, and is awaited as such.
--
-- A slot has squares of as many rows, and as many elements of K, as 1024 bits hold. Transposed, a
-- square takes the same memory. A lane transposes blocks of 4x4 elements. Block (i,j) of a square
-- goes to the place of (j,i), and i ~ j is the same for both. So a step, which has all blocks of
-- one or more values of i ~ j, writes only what it has read. Nor do lanes have bank conflicts.
local arrive = require "cuttle.warp_arrive"
local lists = require "cuttle.lists"
local M = {}

local GROUP <const>, WARP <const>, TURNERS <const> = 128, 32, 3
local LINE_BITS <const>, BLOCK <const> = 1024, 4
local ATOM_ROWS <const> = 64
local AT_ONCE <const> = 4 -- blocks of bytes that a lane transposes

-- Does wgmma take no operand of this type from shared memory that is contiguous so?
local function is_turned(dtype, major) return dtype.bits ~= 16 and major == "mn" end

--- A problem with A and B in each other's places, where C is contiguous along N.
function M.across(p)
  local q = lists.with(p, { A = p.B, B = p.A, C = select(p.C, 1, 0, 2), m = p.n, n = p.m,
    a_major = p.b_major, b_major = p.a_major, swapped = not p.swapped,
    scales = p.scales and { A = p.scales.B, B = p.scales.A } })
  q.type_name = nil
  return q
end

--- What a variant needs of this: {held = are rows in registers?, columns = are they transposed?,
--- bits = of an element}; nil: nothing.
function M.plan(variant)
  local dtype = variant.dtype
  local held, columns = is_turned(dtype, variant.b_major), is_turned(dtype, variant.a_major)
  if not (held or columns) then return nil end
  return { held = held, columns = columns, bits = dtype.bits }
end

--- Why a configuration has no kernel for a problem's operands; nil: it has one.
function M.trouble(config, p)
  if not M.plan { dtype = p.dtype, a_major = p.a_major, b_major = p.b_major } then return nil end
  local line = LINE_BITS // p.dtype.bits
  local bM, bN, bK = table.unpack(config.tile or { line, line, line })
  if bM % line ~= 0 or bN % line ~= 0 or bK ~= line then
    return ("it takes what is not contiguous along K in squares of %d, which do not fit tiles of "
      .. "%dx%dx%d"):format(line, bM, bN, bK)
  elseif config.cluster or config.gathers then
    return "its blocks are in clusters or gather, so both operands have to be contiguous along K"
  end
end

--- In a kernel: a ring (rows,K,slot) as it is when its slots are transposed, in the same memory
--- with the same swizzle.
function M.turned(ring)
  local n, line, slots = size(ring, 0), size(ring, 1), size(ring, 2)
  return view(ring, layout({n, line, slots}, {line, 1, n * line}))
end

--- In a kernel: the columns' ring as it is when slots are transposed, and an mbarrier for each slot
--- that says so, {columns =, full =}; nil: none is.
function M.begin(variant, turns, columns)
  if not (turns and turns.columns) then return nil end
  return { columns = M.turned(columns), full = mbarrier(variant.stages, TURNERS) }
end

-- By the bits of an element, the order of an instruction's rows in registers. Of words a lane's has
-- banks of its own in a line; of bytes a lane's two are adjacent.
local orders <const> = { [32] = { { 4, 2, 2, 2, 2 }, { 1, 16, 4, 8, 32 } },
                         [8] = { { 8, 2, 4 }, { 2, 1, 16 } } }

--- The tiler of M for groups that have so many rows each, which are adjacent. nil: rows of the
--- instruction are as they lie.
function M.permutation(turns, rows, groups)
  local held = turns and turns.held
  if not held and (groups == 1 or rows == ATOM_ROWS) then return nil end
  local extent, strides = ATOM_ROWS, 1
  if held then extent, strides = table.unpack(orders[turns.bits]) end
  return { layout({extent, groups, rows // ATOM_ROWS}, {strides, rows, ATOM_ROWS}) }
end

-- {====== Transposing ======

-- Four words of four bytes each: byte j of word i becomes byte i of word j.
local function transposed(a, b, c, d)
  local low, high = u32(0x5140), u32(0x7362)
  local ab, ab_high = byte_perm(a, b, low), byte_perm(a, b, high)
  local cd, cd_high = byte_perm(c, d, low), byte_perm(c, d, high)
  local first, second = u32(0x5410), u32(0x7632)
  return byte_perm(ab, cd, first), byte_perm(ab, cd, second), byte_perm(ab_high, cd_high, first),
    byte_perm(ab_high, cd_high, second)
end

-- Blocks (i,j), (i,j ~ 1) and so on of bytes, from (rows,K) to (rows,K) of the same memory. What is
-- read for all of them is under way at one time.
local function turn_bytes(raw, turned, i, j)
  local from, to = recast(raw, u32), recast(turned, u32)
  local held = fragment(u32, {1, BLOCK, AT_ONCE})
  for b = 0, AT_ONCE - 1 do copy(tile(from, {1, BLOCK}, {i, j ~ b}), held(_, _, b)) end
  sync_warp()
  for b = 0, AT_ONCE - 1 do
    local new = fragment(u32, {BLOCK, 1})
    new[0], new[1], new[2], new[3] = transposed(held[{0, 0, b}], held[{0, 1, b}], held[{0, 2, b}],
      held[{0, 3, b}])
    copy(new, tile(to, {BLOCK, 1}, {i, j ~ b}))
  end
end

-- The same of blocks (i,j) and (i,j ~ 4) of words.
local function turn_words(raw, turned, i, j)
  local wide = atom("UniversalCopy<u128>", raw.dtype)
  local function new() return fragment(raw.dtype, {BLOCK, BLOCK}) end
  local function at(x, n) return tile(x, {BLOCK, BLOCK}, {i, j ~ 4 * n}) end
  local held = { new(), new() }
  for n, block in ipairs(held) do copy(wide, at(raw, n - 1), block) end
  sync_warp()
  for n, block in ipairs(held) do
    local across = new()
    copy(select(block, 1, 0), across)
    copy(wide, across, select(at(turned, n - 1), 1, 0))
  end
end

--- Transposes (rows,K) in its memory, seen as `raw` before and `turned` after that, square by
--- square: what warp number `warp` of n does.
function M.turn(raw, turned, warp, n)
  local is_wide = raw.dtype.bits == 32
  local line = LINE_BITS // raw.dtype.bits
  local across = line // BLOCK                          -- blocks of a square
  local apart = is_wide and across or AT_ONCE           -- values of i ~ j of a step
  local steps = across // apart                         -- of a square
  local lane = threadIdx.x % WARP
  for step in range(warp, size(raw, 0) // line * steps, n) do
    local i, square = lane % across, step // steps
    local j = i ~ (step % steps * apart + lane // across)
    local from, to = tile(raw, {line, line}, {square, 0}), tile(turned, {line, line}, {square, 0})
    if is_wide then turn_words(from, to, i, j) else turn_bytes(from, to, i, j) end
  end
end

--- In the group that loads, its warps that do not load change slots of the ring: f(slot, k, part)
--- changes one that is full, of step k of K. After that it is full for those that multiply.
--- each_tile(f) calls f for each tile of the block.
function M.each_slot(variant, block, each_tile, f)
  if threadIdx.x < WARP then return end
  local state = pipeline_state(variant.stages)
  each_tile(function(_, _, part)
    for k in range(part and part.k_tiles or block.k_tiles) do
      local slot = state.slot
      block.full[slot]:wait(state.parity)
      f(slot, k, part)
      arrive(block.turned.full[slot])
      state:advance()
    end
  end)
end

--- The turners' part of a kernel, by each_slot.
function M.turn_all(variant, block, each_tile)
  M.each_slot(variant, block, each_tile, function(slot)
    M.turn(block.columns(_, _, slot), block.turned.columns(_, _, slot), threadIdx.x // WARP - 1,
      TURNERS)
    fence_proxy_async()
  end)
end

-- {====== Rows in registers ======

-- Bytes of step `step` of K, of the group's rows of a slot: a lane has four of K together in each
-- of two rows, which are adjacent in each of four lines. So that lanes have banks of their own,
-- half of them begin with the third line.
local function hold_bytes(held, slot, step)
  local from, words = recast(slot, u16), fragment(u32, {4, size(held, 1)}) -- (rows / 2,K), (4,M)
  local lane, warp = threadIdx.x % WARP, threadIdx.x % GROUP // WARP
  local four, pair = lane % 4, 8 * warp + lane // 4
  local late = four // 2 -- the third and fourth line come first
  local low = where(late == 1, u32(0x1054), u32(0x5410))
  local high = where(late == 1, u32(0x3276), u32(0x7632))
  local both = fragment(u16, {1, 2, 2})
  for i = 0, size(words, 1) - 1 do
    for half = 0, 1 do
      local places = tile(from, {ATOM_ROWS // 2, 16}, {i, 2 * step + half})
      for h = 0, 1 do
        copy(tile(places, {1, 2}, {pair, 2 * four + (late ~ h)}), both(_, _, h))
      end
      local function line(b) return cast(both[{0, b % 2, b // 2}], u32) end
      local x = byte_perm(line(0), line(1), u32(0x5140))
      local y = byte_perm(line(2), line(3), u32(0x5140))
      words[{2 * half, i}], words[{2 * half + 1, i}] = byte_perm(x, y, low), byte_perm(x, y, high)
    end
  end
  copy(recast(words, held.dtype), held)
end

--- In a kernel: a thread's fragment of rows (V,M,K), and what reads a step of K of a slot into it.
--- Of a shared tile the thread's group has part number `group` of `n_groups`.
function M.hold(variant, mma, thr, ring, group, n_groups)
  local held = fragment(variant.dtype, mma:partition_shape_A{variant.tile[2], variant.tile[3]})
  if variant.dtype.bits == 8 then
    local extent = {variant.tile[2] // n_groups, variant.tile[3]}
    return held, function(step, slot)
      hold_bytes(held(_, _, step), tile(ring(_, _, slot), extent, {group, 0}), step)
    end
  end
  local mine = thr:partition_A(ring)
  return held, function(step, slot) copy(mine(_, _, step, slot), held(_, _, step)) end
end

--- The sums of a tile, of rows in registers. Half of a slot goes there while the products of the
--- half before run. Those of the last slot run on: it is returned, to be released. `calls`:
--- await(slot, parity) waits for a slot, read(step, slot) is M.hold's, begun(k) is called when the
--- first products of tile k of K run, release(slot) gives a slot back.
function M.multiply(mma, state, held, tCsY, sums, k_tiles, calls)
  local before, half = 0, size(held, 2) // 2
  for k in range(k_tiles) do
    local slot = state.slot
    calls.await(slot, state.parity)
    for part = 0, 1 do
      for step = part * half, (part + 1) * half - 1 do
        calls.read(step, slot)
      end
      wgmma_fence()
      for step = part * half, (part + 1) * half - 1 do
        gemm(mma, held(_, _, step), tCsY(_, _, step, slot), sums, {accumulate = step > 0 or k > 0})
      end
      wgmma_commit()
      if part == 0 then calls.begun(k) end
      if part == 1 then fence_proxy_async() end -- the slot's rows are here
      wgmma_wait(1)
      if part == 0 and k > 0 then calls.release(before) end
    end
    before = slot
    state:advance()
  end
  return before
end

return M
