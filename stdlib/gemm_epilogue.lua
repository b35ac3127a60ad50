-- gemm_epilogue.lua: what a kernel of matmul does with its sums: C = f(alpha * sum + beta * C),
-- from registers to memory. A variant (see matmul.lua) says what of that there is.
local ct = require "cuttle"
local tiles = require "cuttle.tiles"
local M = {}

local cast, copy, fragment, size, range = ct.cast, ct.copy, ct.fragment, ct.size, ct.range
local guard = ct.guard

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
function M.finish(variant, sum, old, alpha, beta, at, l, operands)
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
  return cast(variant.epilogue(v, m, n, l, table.unpack(operands, first)), variant.work)
end

-- A thread's sums (V,M,N) to its part of C, column by column: `places` are the coordinates in C of
-- the part's elements.
function M.store(variant, sums, part, places, alpha, beta, l, operands)
  local dtype = variant.c_dtype
  local old = nil
  if variant.reads_c then old = fragment(dtype, {size(sums, 0), size(sums, 1)}) end
  local new = fragment(variant.work, {size(sums, 0), size(sums, 1)})
  for j in range(size(sums, 2)) do
    if variant.reads_c then copy(part(ct._, ct._, j), old) end
    for i in range(size(new)) do
      local v = variant.reads_c and old[i] or nil
      new[i] = M.finish(variant, sums[{i % size(sums, 0), i // size(sums, 0), j}], v, alpha, beta,
        places(i % size(sums, 0), i // size(sums, 0), j), l, operands)
    end
    copy(cast(new, dtype), part(ct._, ct._, j))
  end
end

return M
