-- dot_rows.lua: values of each row of an accumulator. A thread has some elements of some rows;
-- lanes and warps beside it have the others.
--   row_reduce(acc, op)            a fragment of a value for each of the thread's rows
--   row_broadcast(acc, rows, f)    each element becomes f(element, value of its row)
local internal = ...
local tiles = require "cuttle.tiles"
local accumulators = require "cuttle.accumulator"
local collective = require "cuttle.collective"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name
local WARP <const> = 32

local function check_acc(x, op)
  if not accumulators.is_accumulator(x) then
    fail(op, "argument 1 is of type %s; an accumulator was expected", type_name(x))
  end
end

-- Do the lanes that differ in these bits, and no others of a warp, share each row?
local function are_bits(row, bits, threads)
  for t = 0, threads - 1 do
    local first = t // WARP * WARP
    local n = 0
    for other = first, math.min(first + WARP, threads) - 1 do
      if row(other) == row(t) then n = n + 1 end
    end
    for _, by in ipairs(bits) do
      if t ~ by >= threads or row(t ~ by) ~= row(t) then return false end
    end
    if n ~= 1 << #bits then return false end
  end
  return true
end

-- The lanes of a warp that share a row are those whose numbers differ in some bits: these bits,
-- none where that is not so. And `across`: the values of a row that are left then.
local sharing = static_fn(function(mma, threads)
  local tv, m_tile = mma:tv_layout_C(), mma:tile_size_mnk(0)
  local rows, bits, n_sharing = {}, {}, 0
  for t = 0, threads - 1 do rows[t] = tv(t, 0) % m_tile end
  local function row(t) return rows[t] end
  for _, by in ipairs { 1, 2, 4, 8, 16 } do
    if by < threads and row(by) == row(0) then bits[#bits + 1] = by end
  end
  if not are_bits(row, bits, threads) then bits = {} end
  for t = 0, threads - 1 do
    if row(t) == row(0) then n_sharing = n_sharing + 1 end
  end
  return bits, n_sharing >> #bits
end)

-- Over the warps that share rows, by way of shared memory.
local function over_warps(acc, rows, f, bits, across)
  if (acc.among or acc.threads) < static(blockDim.x) then
    fail("row_reduce", "%d warps share each row, and the barrier for that is one of the whole "
      .. "block, of which %d threads have the sums; make the accumulator with {warps = {%d, 1}}",
      across, acc.threads, acc.threads // WARP)
  end
  local n_rows = acc.shape[1]
  local is_read = internal.kernel.scratch_begin()
  local all = view(internal.kernel.scratch(rows.dtype, n_rows * across, 1),
    layout { n_rows, across })
  if is_read then sync_threads() end
  local columns = acc.warps and acc.mma.atom.shape[2] or 1 << #bits -- of a warp in a step
  local mine, lane = acc.places[0][2] // columns, threadIdx.x % WARP
  local writes = not acc.among or threadIdx.x < acc.threads
  for _, by in ipairs(bits) do writes = writes and lane & by == 0 end
  if writes then
    for r in unroll(0, acc.n_rows) do all[{ acc:row(r), mine }] = rows[r] end
  end
  sync_threads()
  internal.kernel.scratch_end()
  for r in unroll(0, acc.n_rows) do
    local v = all[{ acc:row(r), 0 }]
    for w in unroll(1, across) do v = f(v, all[{ acc:row(r), w }]) end
    rows[r] = v
  end
end

local function reduce_row(acc, r, f, bits)
  local v
  for i in unroll(0, size(acc.sums)) do
    if acc.row_of[i] == r then v = v == nil and acc.sums[i] or f(v, acc.sums[i]) end
  end
  for _, by in ipairs(bits) do v = f(v, shfl_xor(v, by)) end
  return v
end

function M.row_reduce(acc, op)
  check_acc(acc, "row_reduce")
  local f = collective.operation(op, "row_reduce")
  local bits, across = sharing(acc.mma, acc.threads)
  local rows = fragment(acc.sums.dtype, acc.n_rows)
  for r in unroll(0, acc.n_rows) do rows[r] = reduce_row(acc, r, f, bits) end
  if across > 1 then over_warps(acc, rows, f, bits, across) end
  return rows
end

function M.row_broadcast(acc, rows, f)
  check_acc(acc, "row_broadcast")
  accumulators.check_rows(acc, rows, 2, "row_broadcast")
  if type(f) ~= "function" then
    fail("row_broadcast", "argument 3 is of type %s; a function of an element and its row's value "
      .. "was expected", type_name(f))
  end
  for i in unroll(0, size(acc.sums)) do acc.sums[i] = f(acc.sums[i], rows[acc.row_of[i]]) end
  return acc
end

return M
