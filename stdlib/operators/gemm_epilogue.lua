-- gemm_epilogue.lua: what a kernel of matmul does with its sums: C = f(alpha * sum + beta * C),
-- from registers to memory. A variant (see matmul.lua) says what of that there is.
local nested = require "cuttle.gemm_nested"
local tiles = require "cuttle.tiles"
local M = {}

local STORE_BITS <const> = 128

-- Operands of the epilogue, of which elements outside read as 0: tiles of C may overhang. The bias
-- is read where C is.
function M.guarded(variant, operands)
  local out = {}
  for i, x in ipairs(operands) do
    local is_inside = i == 1 and variant.bias and not variant.ragged
    out[i] = tiles.type_name(x) == "tensor" and not is_inside and guard(x) or x
  end
  return out
end

-- The element of C at `at` that a sum makes; `old` is what C holds there.
local function finish(variant, sum, old, alpha, beta, at, l, operands)
  local v = cast(sum, variant.work) * alpha
  if variant.reads_c then v = v + cast(old, variant.work) * beta end
  local m, n = at[1], at[2]
  if variant.swapped then m, n = n, m end
  local first = 1
  if variant.bias then
    v = v + cast(operands[1][{m, n, l}], variant.work)
    first = 2
  end
  if not variant.epilogue then return v end
  local made = variant.epilogue(v, m, n, l, table.unpack(operands, first))
  if made == nil then
    tiles.fail("matmul", "the epilogue returns nothing; expected the number that is stored in C")
  end
  return cast(made, variant.work)
end

-- Is a part of C what nested.elements returns, instead of a tensor?
local function is_nested(part) return type(part) == "table" end

-- What as many elements of C become as there are sums; `old` and `new` are registers for these.
local function compute(variant, sums, part, places, old, new, alpha, beta, l, operands)
  if variant.reads_c then
    if is_nested(part) then nested.read(part, places, old) else copy(part, old) end
  end
  for i in range(size(new)) do
    local before = variant.reads_c and old[i] or nil
    new[i] = finish(variant, sums[i], before, alpha, beta, places[i], l, operands)
  end
  return cast(new, variant.c_dtype)
end

local function registers(variant, like)
  local old = variant.reads_c and fragment(variant.c_dtype, size(like)) or nil
  return old, fragment(variant.work, size(like))
end

-- The same where C is nested.
local function store_nested(variant, sums, part, places, alpha, beta, l, operands)
  local old, new = registers(variant, sums(_, _, 0))
  for j in range(size(sums, 2)) do
    nested.write(part, places(_, _, j), compute(variant, sums(_, _, j), part, places(_, _, j), old,
      new, alpha, beta, l, operands))
  end
end

-- A thread's sums (V,M,N) to its part of C, column by column. `places` are the coordinates in C of
-- the part's elements. The part is a tensor or what nested.elements returns.
function M.store(variant, sums, part, places, alpha, beta, l, operands)
  if is_nested(part) then
    return store_nested(variant, sums, part, places, alpha, beta, l, operands)
  end
  local old, new = registers(variant, sums(_, _, 0))
  for j in range(size(sums, 2)) do
    copy(compute(variant, sums(_, _, j), part(_, _, j), places(_, _, j), old, new, alpha, beta, l,
      operands), part(_, _, j))
  end
end

-- A thread's elements of C in registers, shaped as its sums.
function M.finished(variant, sums, part, places, alpha, beta, l, operands)
  local old = variant.reads_c and fragment(variant.c_dtype, shape(sums)) or nil
  return compute(variant, sums, part, places, old, fragment(variant.work, shape(sums)), alpha, beta,
    l, operands)
end

-- {====== Through shared memory ======

-- What staged needs to know of a kernel whose sums are (N,M), N in steps of `step` rows, and whose
-- `bytes` of shared memory are free for C: the passes in which C goes through it, the tile of one
-- pass there, and the copy of it by n threads. Lines of M are padded so that instructions' parts of
-- 8 rows by 8 elements reach all banks.
function M.plan_staged(variant, n_threads, step, bytes)
  local bM, bN = variant.tile[1], variant.tile[2]
  local dtype = variant.c_dtype
  local vec = STORE_BITS // dtype.bits
  local ld = bM + math.max(8, vec)
  local rows = bN
  while rows % (2 * step) == 0 and rows * ld * dtype.bits // 8 > bytes do rows = rows // 2 end
  local along = math.min(bM // vec, n_threads)
  local one = atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype)
  return { rows = rows, passes = bN // rows, layout = layout({ rows, bM }, { ld, 1 }),
           bytes = math.max(bytes, rows * ld * dtype.bits // 8),
           tiled = tiled_copy(one, row_major{n_threads // along, along},
             row_major{1, vec}) }
end

-- A thread's way between its part of the shared tile and C, for staged: of a nested C by places.
local function make_mover(variant, tile_of_C, places)
  if not variant.nested_C then
    return { read = function(to) copy(tile_of_C, to) end,
             write = function(from) copy(from, tile_of_C) end }
  end
  local rows = nested.rows(tile_of_C, places)
  return { read = function(to) nested.fetch(tile_of_C, rows, places, to) end,
           write = function(from) nested.store(tile_of_C, rows, places, from) end }
end

-- A block's sums, a thread's part of which are (V,N,M), to its tile (bN,bM) of C, through `memory`,
-- which nobody writes any more: so threads read and write C in adjacent wide accesses. Of a nested
-- C the tile is what nested.gather returns.
function M.staged(variant, plan, thr_mma, sums, memory, tile_of_C, places, alpha, beta, l, operands)
  local dtype, bM = variant.c_dtype, variant.tile[1]
  local sC = view(recast(memory, dtype), plan.layout)
  local thr = plan.tiled:get_slice(threadIdx.x)
  local part, shared_part = thr_mma:partition_C(sC), thr:partition_S(sC)
  local n_steps = size(sums, 1) // plan.passes
  for pass = 0, plan.passes - 1 do
    local at = {plan.rows, bM}
    local gC = variant.nested_C and tile_of_C
      or thr:partition_D(tile(tile_of_C, at, {pass, 0}))
    local gP = variant.nested_C and thr:partition_D(tile(places, at, {pass, 0}))
    local mover = make_mover(variant, gC, gP)
    sync_threads()
    if variant.reads_c then
      mover.read(shared_part)
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
    end
    M.store(variant, tile(sums, {size(sums, 0), n_steps, size(sums, 2)}, {0, pass, 0}), part,
      thr_mma:partition_C(tile(places, at, {pass, 0})), alpha, beta, l, operands)
    sync_threads()
    mover.write(shared_part)
  end
end

return M
