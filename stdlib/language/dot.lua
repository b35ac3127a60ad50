-- dot.lua: the product of two tiles by a whole block, in one line.
--   dot(A, B[, acc])   acc += A B'
local tiles = require "cuttle.tiles"
local accumulators = require "cuttle.accumulator"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name
local is_acc, is_registers = accumulators.is_accumulator, accumulators.is_registers

-- The sums of another product as A: the same registers, cast.
local function sums_as_A(acc, other, B)
  if acc.mma.atom.family == "fma" or other.mma.atom.family == "fma" then
    fail("dot", "A is an accumulator and one of the products is made of plain FMAs, whose "
      .. "registers cannot be an operand; store A in shared memory first, with A:store(s)")
  elseif other.warps[2] > 1 then
    fail("dot", "A is an accumulator whose columns %d warps share; make it with {warps = {%d, 1}}",
      other.warps[2], other.warps[1] * other.warps[2])
  end
  local held = fragment(B.dtype, shape(other.sums))
  copy(cast(other.sums, B.dtype), held)
  return acc.mma:retile_A(held, other.mma)
end

local function fragment_or_tile(acc, name, x, B)
  if is_acc(x) then return sums_as_A(acc, x, B) end
  if is_registers(x) then return x end
  return accumulators.operand(acc, name, x)
end

local function check_registers(acc, x, name)
  local mma = acc.mma
  local shape = name == "A" and mma:partition_shape_A { acc.shape[1], mma:tile_size_mnk(2) }
    or mma:partition_shape_B { acc.shape[2], mma:tile_size_mnk(2) }
  local want = { size(shape[1]), size(shape[2]) }
  if rank(x) ~= 3 or size(x, 0) ~= want[1] or size(x, 1) ~= want[2] then
    fail("dot", "the fragment %s is not an operand %s of this accumulator, whose parts are "
      .. "(%d,%d,k); write acc:read_%s(tile)", x.layout, name, want[1], want[2], name)
  end
end

-- That A and B are operands of the accumulator.
local function check_operands(acc, A, B)
  if is_registers(B) then
    check_registers(acc, B, "B")
  else
    accumulators.check_extent(acc, B, "B", "dot")
  end
  if is_registers(A) then
    check_registers(acc, A, "A")
  elseif is_registers(B) then
    accumulators.check_extent(acc, A, "A", "dot")
  else
    local p = accumulators.problem(A, B, {}, "dot")
    if p.M ~= acc.shape[1] then
      fail("dot", "A (%d,%d) and B (%d,%d) give sums (%d,%d), but the accumulator is (%d,%d)", p.M,
        p.K, p.N, p.K, p.M, p.N, acc.shape[1], acc.shape[2])
    end
  end
end

local function steps(acc, a, bring_a, b, bring_b)
  for k in unroll(0, size(a, 2)) do
    if bring_a then bring_a(k) end
    if bring_b then bring_b(k) end
    gemm(acc.mma, a(_, _, k), b(_, _, k), acc.sums)
  end
end

-- wgmma reads what other threads have written only after a fence of each and a barrier.
local function by_groups(acc, a, bring_a, b)
  fence_proxy_async()
  sync_threads()
  for k in unroll(0, bring_a and size(a, 2) or 0) do bring_a(k) end
  wgmma_fence()
  gemm(acc.mma, a, b, acc.sums)
  wgmma_commit()
  wgmma_wait(0)
end

function M.dot(A, B, acc)
  if acc == nil then
    acc = accumulators.make(A, B, {}, "dot")
  elseif not is_acc(acc) then
    fail("dot", "argument 3 is of type %s; an accumulator was expected, as accumulator(A, B) makes "
      .. "them", type_name(acc))
  end
  check_operands(acc, A, B)
  local a, bring_a = fragment_or_tile(acc, "A", A, B)
  local b, bring_b = fragment_or_tile(acc, "B", B, B)
  if size(a, 2) ~= size(b, 2) then
    fail("dot", "A has %d steps of K and B has %d", size(a, 2), size(b, 2))
  end
  if acc.mma.atom.family == "wgmma" then
    by_groups(acc, a, bring_a, b)
  else
    accumulators.by_threads(acc, function() steps(acc, a, bring_a, b, bring_b) end)
  end
  return acc
end

return M
