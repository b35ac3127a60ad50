-- gemm_hopper_turn.lua: operands of gemm_hopper.lua that wgmma does not take as TMA brings them: of
-- other types than those of 16 bits, it takes only what is contiguous along K in shared memory. The
-- rows of 32-bit types go to registers from where they lie. All else is transposed in its slot, by
-- warps of the group that loads: the slot is then `turned`, and is awaited as such.
--
-- A slot has squares of as many rows, and as many elements of K, as 1024 bits hold. Transposed, a
-- square takes the same memory. A lane transposes blocks of 4x4 elements. Block (i,j) of a square
-- goes to the place of (j,i), and i ~ j is the same for both. So a step, which has all blocks of
-- one or more values of i ~ j, writes only what it has read. Nor do lanes have bank conflicts.
local M = {}

local WARP <const>, TURNERS <const> = 32, 3
local LINE_BITS <const>, BLOCK <const> = 1024, 4
local ATOM_ROWS <const> = 64
local AT_ONCE <const> = 4 -- blocks of bytes that a lane transposes

-- Does wgmma take no operand of this type from shared memory that is contiguous so?
local function is_turned(dtype, major) return dtype.bits ~= 16 and major == "mn" end

--- A problem with A and B in each other's places, where C is contiguous along N.
function M.across(p)
  local q = {}
  for key, value in pairs(p) do q[key] = value end
  q.A, q.B, q.C = p.B, p.A, select(p.C, 1, 0, 2)
  q.m, q.n, q.a_major, q.b_major, q.type_name = p.n, p.m, p.b_major, p.a_major, nil
  q.swapped = not p.swapped
  q.scales = p.scales and { A = p.scales.B, B = p.scales.A }
  return q
end

--- What a variant needs of this: {held = are rows in registers?, rows =, columns = are they
--- transposed?, any = is either?}; nil: nothing.
function M.plan(variant)
  local dtype = variant.dtype
  local rows, columns = is_turned(dtype, variant.b_major), is_turned(dtype, variant.a_major)
  if not (rows or columns) then return nil end
  local held = rows and dtype.bits == 32
  return { held = held, rows = rows and not held, columns = columns, any = columns or not held }
end

--- Why a configuration has no kernel for a problem's operands; nil: it has one.
function M.trouble(config, p)
  if not M.plan { dtype = p.dtype, a_major = p.a_major, b_major = p.b_major } then return nil end
  local line = LINE_BITS // p.dtype.bits
  local bM, bN, bK = table.unpack(config.tile or { line, line, line })
  if bM % line ~= 0 or bN % line ~= 0 or bK ~= line then
    return ("it transposes squares of %d, which do not fit tiles of %dx%dx%d"):format(line, bM, bN,
      bK)
  elseif config.cluster or config.gathers then
    return "blocks of clusters, and those that gather, do not transpose"
  end
end

--- In a kernel: the rings as they are when slots are transposed, and an mbarrier for each slot that
--- says so, {rows =, columns =, full =}; nil: none is.
function M.begin(variant, turns, rows, columns)
  if not (turns and turns.any) then return nil end
  -- In the same memory, with the same swizzle.
  local function transposed(ring)
    local n, line = size(ring, 0), size(ring, 1)
    return view(ring, layout({n, line, variant.stages}, {line, 1, n * line}))
  end
  return { rows = turns.rows and transposed(rows), columns = turns.columns and transposed(columns),
           full = mbarrier(variant.stages, TURNERS) }
end

--- The tiler of M for groups that have so many rows each, which are adjacent. In registers, rows of
--- the instruction are in an order in which a lane's word of a line has banks of its own. nil: they
--- are as they lie.
function M.permutation(turns, rows, groups)
  local held = turns and turns.held
  if not held and (groups == 1 or rows == ATOM_ROWS) then return nil end
  local extent, strides = ATOM_ROWS, 1
  if held then extent, strides = {4, 2, 2, 2, 2}, {1, 16, 4, 8, 32} end
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

-- Block (i,j) of words.
local function turn_words(raw, turned, i, j)
  local wide = atom("UniversalCopy<u128>", raw.dtype)
  local held, new = fragment(raw.dtype, {BLOCK, BLOCK}), fragment(raw.dtype, {BLOCK, BLOCK})
  copy(wide, tile(raw, {BLOCK, BLOCK}, {i, j}), held)
  sync_warp()
  copy(select(held, 1, 0), new)
  copy(wide, new, select(tile(turned, {BLOCK, BLOCK}, {i, j}), 1, 0))
end

-- A slot of a ring (rows,K,slot) by the turners, square by square.
local function turn_slot(ring, turned_ring, slot)
  local raw, turned = ring(_, _, slot), turned_ring(_, _, slot)
  local is_wide = raw.dtype.bits == 32
  local line = LINE_BITS // raw.dtype.bits
  local across = line // BLOCK                                  -- blocks of a square
  local apart = is_wide and WARP // across or AT_ONCE           -- values of i ~ j of a step
  local steps = across // apart                                 -- of a square
  local warp, lane = threadIdx.x // WARP - 1, threadIdx.x % WARP
  for step in range(warp, size(raw, 0) // line * steps, TURNERS) do
    local i, square = lane % across, step // steps
    local j = i ~ (step % steps * apart + lane // across)
    local from, to = tile(raw, {line, line}, {square, 0}), tile(turned, {line, line}, {square, 0})
    if is_wide then turn_words(from, to, i, j) else turn_bytes(from, to, i, j) end
  end
end

--- The turners' part of a kernel, for the threads of the group that loads; each_tile(f) calls f for
--- each tile of the block.
function M.turn_all(variant, plan, block, each_tile)
  if threadIdx.x < WARP then return end
  local state = pipeline_state(variant.stages)
  each_tile(function()
    for _ in range(block.k_tiles) do
      local slot = state.slot
      block.full[slot]:wait(state.parity)
      if plan.turns.rows then turn_slot(block.rows, block.turned.rows, slot) end
      if plan.turns.columns then turn_slot(block.columns, block.turned.columns, slot) end
      fence_proxy_async()
      sync_warp()
      if threadIdx.x % WARP == 0 then block.turned.full[slot]:arrive() end
      state:advance()
    end
  end)
end

-- {====== Rows in registers ======

--- The sums of a tile, of rows in registers. Half of a slot goes there while the products of the
--- half before run. Those of the last slot run on: it is returned, to be released. await(slot,
--- parity) waits for a slot, release(slot) gives it back, begin(slot, k) is called when the first
--- products of a slot run.
function M.multiply(mma, state, held, tCsX, tCsY, sums, k_tiles, calls)
  local before, half = 0, size(held, 2) // 2
  for k in range(k_tiles) do
    local slot = state.slot
    calls.await(slot, state.parity)
    for part = 0, 1 do
      for step = part * half, (part + 1) * half - 1 do
        copy(tCsX(_, _, step, slot), held(_, _, step))
      end
      wgmma_fence()
      for step = part * half, (part + 1) * half - 1 do
        gemm(mma, held(_, _, step), tCsY(_, _, step, slot), sums,
          {accumulate = step > 0 or k > 0})
      end
      wgmma_commit()
      if part == 0 then calls.begin(k) end
      wgmma_wait(1)
      if part == 0 and k > 0 then calls.release(before) end
    end
    before = slot
    state:advance()
  end
  return before
end

return M
