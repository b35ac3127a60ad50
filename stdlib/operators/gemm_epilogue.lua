-- gemm_epilogue.lua: what a kernel of matmul does with its sums: C = f(alpha * sum + beta * C),
-- from registers to memory. A variant (see matmul.lua) says what of that there is. A function with
-- named operands is given an element, gemm_element.lua; what it reduces, gemm_reduce.lua adds up.
local element = require "cuttle.gemm_element"
local nested = require "cuttle.gemm_nested"
local reduce = require "cuttle.gemm_reduce"
local scales = require "cuttle.gemm_scales"
local tiles = require "cuttle.tiles"
local M = {}

local STORE_BITS <const> = 128

-- Operands of the epilogue, of which elements outside read as 0: tiles of C may overhang. The bias
-- is read where C is.
local function guarded(variant, operands)
  local out = {}
  for i, x in ipairs(operands) do
    local is_inside = i == 1 and variant.bias and not variant.ragged
    out[i] = tiles.type_name(x) == "tensor" and not is_inside and guard(x) or x
  end
  return out
end

local Epilogue = {}
Epilogue.__index = Epilogue

--- In a kernel: the way of a tile's sums to C. `at` is what gemm_raster.tile returns, or has its
--- l, operands, scales (gemm_scales.lua) and, for what is reduced, extent = that of C, m and n, the
--- tile's number.
function M.begin(variant, alpha, beta, at)
  return setmetatable({ variant = variant, alpha = alpha, beta = beta, l = at.l,
                        scales = at.scales, operands = guarded(variant, at.operands),
                        reducer = reduce.begin(variant, at) }, Epilogue)
end

-- The sum with all that comes before the function; `old` is what C holds at (m,n).
local function factored(self, sum, old, m, n)
  local variant = self.variant
  local v = cast(sum, variant.work)
  if variant.scales then
    local row, column = m, n
    if variant.swapped then row, column = n, m end
    v = scales.scaled(variant, self.scales, v, self.alpha, row, column, self.l)
  else
    v = v * self.alpha
  end
  if variant.reads_c then v = v + cast(old, variant.work) * self.beta end
  if variant.bias then v = v + cast(self.operands[1][{m, n, self.l}], variant.work) end
  return v
end

-- What the function returns for numbers at (m,n).
local function call(self, m, n, id, ...)
  local variant = self.variant
  if variant.named then return element.call(self, m, n, id, ...) end
  return variant.epilogue(..., m, n, self.l, table.unpack(self.operands, variant.bias and 2 or 1))
end

-- What it makes of them.
local function made_of(self, m, n, id, ...)
  local variant = self.variant
  local made = call(self, m, n, id, ...)
  if made == nil then
    tiles.fail("matmul", "the epilogue returns nothing; expected the number that is stored in C")
  end
  return cast(made, variant.work)
end

-- The element of C at `at` that a sum makes.
local function finish(self, sum, old, at, id)
  local m, n = at[1], at[2]
  if self.variant.swapped then m, n = n, m end
  if not self.variant.epilogue then return factored(self, sum, old, m, n) end
  return made_of(self, m, n, id, factored(self, sum, old, m, n))
end

-- The element that two sums side by side make, of columns 2n and 2n + 1.
local function finish_pair(self, sums, places, ids, i)
  local m, n = places[i][1], places[i][2]
  if self.variant.swapped then m, n = n, m end
  local v, w = factored(self, sums[i], nil, m, n), factored(self, sums[i + 1], nil, m, n + 1)
  return made_of(self, m, n // 2, ids and ids[i], v, w)
end

-- Is a part of C what nested.elements returns, instead of a tensor?
local function is_nested(part) return type(part) == "table" end

-- What is reduced is known by the number of each element, so loops over them are written out.
local function counted(self, n)
  if not self.reducer then return range(n) end
  local i = -1
  return function()
    i = i + 1
    if i < n then return i end
  end
end

--- Of a thread's sums in registers the coordinates in these; nil if nothing is reduced.
function Epilogue:ids(sums)
  return self.reducer and identity_tensor{size(sums, 0), size(sums, 1), size(sums, 2)} or nil
end

-- What as many elements of C become as there are sums; `old` and `new` are registers for these.
local function compute(self, sums, part, places, ids, old, new)
  local variant = self.variant
  if variant.reads_c then
    if is_nested(part) then nested.read(part, places, old) else copy(part, old) end
  end
  for i in counted(self, size(new)) do
    local before = variant.reads_c and old[i] or nil
    new[i] = finish(self, sums[i], before, places[i], ids and ids[i])
  end
  return cast(new, variant.c_dtype)
end

local function registers(variant, like)
  local old = variant.reads_c and fragment(variant.c_dtype, size(like)) or nil
  return old, fragment(variant.work, size(like))
end

-- Where two columns of sums make one of C, which is nested.
local function store_pairs(self, sums, part, places, ids)
  local variant = self.variant
  for i in unroll(0, size(sums), 2) do
    nested.write_at(part, places[i], cast(finish_pair(self, sums, places, ids, i), variant.c_dtype))
  end
end

-- A thread's sums (V,M,N) to its part of C, column by column.
local function store(self, sums, part, places, ids)
  local variant = self.variant
  local old, new = registers(variant, sums(_, _, 0))
  for j in counted(self, size(sums, 2)) do
    local of = ids and ids(_, _, j)
    if variant.glu then
      store_pairs(self, sums(_, _, j), part, places(_, _, j), of)
    elseif is_nested(part) then
      nested.write(part, places(_, _, j), compute(self, sums(_, _, j), part, places(_, _, j), of,
        old, new))
    else
      copy(compute(self, sums(_, _, j), part(_, _, j), places(_, _, j), of, old, new),
        part(_, _, j))
    end
  end
end

--- A thread's sums (V,M,N), all that it has of the tile, to its part of C. `places` are the
--- coordinates in C of the part's elements. The part is a tensor or what nested.elements returns.
function Epilogue:store(sums, part, places)
  store(self, sums, part, places, self:ids(sums))
  self:finish()
end

--- A thread's elements of C in registers, shaped as these sums; ids: of what is reduced, their
--- coordinates among all its sums of the tile.
function Epilogue:finished(sums, part, places, ids)
  local variant = self.variant
  local old = variant.reads_c and fragment(variant.c_dtype, shape(sums)) or nil
  return compute(self, sums, part, places, ids, old, fragment(variant.work, shape(sums)))
end

--- The same where two columns of sums make one of C: half as many elements.
function Epilogue:paired(sums, places, ids)
  local new = fragment(self.variant.work, size(sums) // 2)
  for i in unroll(0, size(sums), 2) do
    new[i // 2] = finish_pair(self, sums, places, ids, i)
  end
  return cast(new, self.variant.c_dtype)
end

--- After all of a thread's elements of a tile.
function Epilogue:finish()
  if self.reducer then self.reducer:finish() end
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

--- A block's sums, a thread's part of which are (V,N,M), to its tile (bN,bM) of C, through
--- `memory`, which nobody writes any more: so threads read and write C in adjacent wide accesses.
--- Of a nested C the tile is what nested.gather returns.
function Epilogue:staged(plan, thr_mma, sums, memory, tile_of_C, places)
  local variant = self.variant
  if variant.glu then
    local part = nested.elements(variant, tile_of_C.source)
    return self:store(sums, part, thr_mma:partition_C(places))
  end
  local dtype, bM = variant.c_dtype, variant.tile[1]
  local sC = view(recast(memory, dtype), plan.layout)
  local thr = plan.tiled:get_slice(threadIdx.x)
  local part, shared_part = thr_mma:partition_C(sC), thr:partition_S(sC)
  local n_steps, ids = size(sums, 1) // plan.passes, self:ids(sums)
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
    local extent = {size(sums, 0), n_steps, size(sums, 2)}
    store(self, tile(sums, extent, {0, pass, 0}), part,
      thr_mma:partition_C(tile(places, at, {pass, 0})), ids and tile(ids, extent, {0, pass, 0}))
    sync_threads()
    mover.write(shared_part)
  end
  self:finish()
end

return M
