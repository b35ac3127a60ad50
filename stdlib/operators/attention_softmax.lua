-- attention_softmax.lua: the softmax of attention's kernels for tensor cores, in the registers of
-- the sums: a thread has n rows of a block of scores, of each pairs of adjacent columns; four lanes
-- share a row. Of a thread's rows the kernel keeps, in fragments of n:
--   tops    the maxima so far, times c, the scale and log2(e)
--   sums    its part of the sums of exponentials
--   shrink  by what a block's maxima make the sums before it smaller
-- `meet`, if there, is called with the maxima of a block, which it may raise: another warp group
-- may have more of the row. `tell`, if there, is called with what `tops` will be. With `threes`,
-- maxima are found by instructions that sm_90 has.
local internal = ...
local M = {}

local LN_2 <const> = math.log(2)

-- CUDA's own: the registers that our log2 takes would be spilled where a thread has all 255.
local function short_log2(value)
  return internal.kernel.cuda("log2f($x)", { x = value }, f32, function(x) return log2(x) end)
end

local LAZY <const> = 8.0 -- with `lazy`, an exponential may be 2^LAZY before sums are rescaled

--- What the kernel multiplies scores by: exp2 is cheaper than exp.
function M.scale(p) return f32(p.scale / LN_2) end

-- Of an MMA's sums (V,M,N): the rows that a thread has of each atom, two or, in a view, the first.
local function rows_of_atom(x) return size(x, { 0, 1 }) end

--- How many rows a thread has.
function M.n_rows(x) return rows_of_atom(x) * size(x, 1) end

--- Row r of a thread's sums: (2, columns), adjacent ones first. Atoms of wgmma have all columns in
--- V.
function M.row_of(x, r)
  if rank(get_mode(x.layout, 0)) == 3 then return x({_, r, _}, 0, 0) end
  local n = rows_of_atom(x)
  return x({_, r % n}, r // n, _)
end

local row_of = M.row_of

function M.new_rows(S)
  local n = M.n_rows(S)
  return { n = n, tops = fragment(f32, n), sums = fragment(f32, n),
           shrink = fragment(f32, n) }
end

-- f applied to two partial results over the row, one for each of adjacent columns; then to both.
local function row_reduce(row, f)
  local a, b = row[{0, 0}], row[{1, 0}]
  for j in range(1, size(row, 1)) do
    a = f(a, row[{0, j}])
    b = f(b, row[{1, j}])
  end
  return f(a, b)
end

-- The same over the four lanes that share a row.
local function lanes_reduce(v, f)
  v = f(v, shfl_xor(v, 1))
  return f(v, shfl_xor(v, 2))
end

local function add(a, b) return a + b end

local function most_of_three(x, y, z)
  return internal.kernel.cuda("__vimax3_s32($a, $b, $c)", { a = x, b = y, c = z }, i32,
    function(a, b, c) return max(max(a, b), c) end)
end

-- The largest of a row, if that is not negative; else some negative number. Numbers of f32 that are
-- not negative have the order of their bits as integers, of which sm_90 compares three at a time,
-- as fast as it compares two of f32.
local function most_by_threes(row)
  local function bits(i, j) return bitcast(row[{i, j}], i32) end
  local a, b, n = bits(0, 0), bits(1, 0), size(row, 1)
  for j in range(1, n - 1, 2) do
    a = most_of_three(a, bits(0, j), bits(0, j + 1))
    b = most_of_three(b, bits(1, j), bits(1, j + 1))
  end
  if n % 2 == 0 then a = most_of_three(a, bits(0, n - 1), bits(1, n - 1)) end
  return bitcast(max(a, b), f32)
end

-- The maximum of row r, over the four lanes that share it.
local function maximum(S, r) return lanes_reduce(row_reduce(row_of(S, r), max), max) end

-- The same for each r from 0 to `last`. Rows whose scores are all negative are compared again.
local function maxima_by_threes(S, last)
  local found, least = fragment(f32, last + 1), math.huge
  for r = 0, last do
    found[r] = lanes_reduce(most_by_threes(row_of(S, r)), max)
    least = r == 0 and found[r] or min(least, found[r])
  end
  if vote_any(least < 0.0) then
    for r = 0, last do found[r] = maximum(S, r) end
  end
  return found
end

--- A row does not see the keys from its limit on, counted from the block's first. `places` are the
--- coordinates of S.
function M.mask(S, places, limits)
  for r = 0, M.n_rows(S) - 1 do
    local row, place = row_of(S, r), row_of(places, r)
    for j in range(size(row, 1)) do
      for c = 0, 1 do
        row[{c, j}] = where(place[{c, j}][2] < limits[r], row[{c, j}], -math.huge)
      end
    end
  end
end

-- The most that a maximum of rows 0 to `last` grows by.
local function growth(rows, new, last)
  local function of(r) return new[r] - rows.tops[r] end
  if last == 0 then return of(0) end
  return max(growth(rows, new, last - 1), of(last))
end

--- `tops` become those of S, too; sums fit them. Returns whether O must be multiplied by `shrink`.
--- The largest exponential is to be 2^lift, nil: 1, or with `lazy` at most 2^8; all of them 2^more
--- times as large.
function M.raise(S, rows, c, masked, is_first, lazy, lift, more)
  local tops, sums, shrink = rows.tops, rows.sums, rows.shrink
  local last = rows.n - 1
  local new = fragment(f32, rows.n)
  local found = rows.threes and not masked and maxima_by_threes(S, last)
  for r = 0, last do
    new[r] = (found and found[r] or maximum(S, r)) * c
    if more ~= nil or lift then new[r] = new[r] + ((more == nil and 0.0 or more) - (lift or 0)) end
  end
  if rows.meet then rows.meet(new) end
  if is_first then
    copy(new, tops)
    return true
  end
  local grows = vote_any(growth(rows, new, last) > (lazy and LAZY - (lift or 0) or 0.0))
  if rows.tell then
    for r = 0, last do new[r] = where(grows, max(tops[r], new[r]), tops[r]) end
    rows.tell(new)
  end
  if grows then
    for r = 0, last do
      local top = max(tops[r], new[r])
      shrink[r] = fast.exp2(tops[r] - (masked and where(top == -math.huge, 0.0, top) or top))
      tops[r] = top
      sums[r] = sums[r] * shrink[r]
    end
  end
  return grows
end

--- The same, and S becomes exp2(c S - tops). Exponentials are to be multiplied by `by`, nil: 1, but
--- not their sums.
function M.softmax(S, rows, c, masked, is_first, lazy, lift, by)
  local more = by ~= nil and log2(by) or nil
  local grows = M.raise(S, rows, c, masked, is_first, lazy, lift, more)
  local sums = rows.sums
  for r = 0, rows.n - 1 do
    local row, base = row_of(S, r), rows.tops[r]
    if masked then base = where(base == -math.huge, 0.0, base) end
    if by ~= nil then base = base - more end
    for j in range(size(row, 1)) do
      for i = 0, 1 do row[{i, j}] = fast.exp2(row[{i, j}] * c - base) end
    end
    local sum = row_reduce(row, add)
    if by ~= nil then sum = sum / by end
    sums[r] = is_first and sum or sums[r] + sum
  end
  return grows
end

function M.scale_rows(O, factors)
  for r = 0, M.n_rows(O) - 1 do
    local row = row_of(O, r)
    for j in range(size(row, 1)) do
      for i = 0, 1 do row[{i, j}] = row[{i, j}] * factors[r] end
    end
  end
end

--- The maximum and the sum with one more score, `sink`, times log2(e), and by what the sums before
--- shrink.
function M.with_sink(top, sum, sink)
  local new = max(top, sink)
  local shrink = exp2(top - new)
  return new, sum * shrink + exp2(sink - new), shrink
end

--- Behind the last block: completes the sums over the lanes that share a row, and returns what O is
--- to be multiplied by. A row that saw no key is 0. `sink` is one more score, times log2(e); nil:
--- there is none.
function M.finish(rows, sink)
  local factors = fragment(f32, rows.n)
  for r = 0, rows.n - 1 do
    local sum, shrink = lanes_reduce(rows.sums[r], add), 1.0
    if sink ~= nil then rows.tops[r], sum, shrink = M.with_sink(rows.tops[r], sum, sink) end
    factors[r] = where(sum == 0.0, 0.0, shrink / sum)
    rows.sums[r] = sum
  end
  return factors
end

--- Behind `finish`: writes the logarithms of the rows' sums of exponentials to LSE (S,H,B) of the
--- tile `at`, as attention_tiles.lua has it; query_of(r) is a row's. One thread of four does.
function M.store_lse(rows, LSE, at, thread, query_of)
  for r = 0, rows.n - 1 do
    local row = query_of(r)
    if thread % 4 == 0 and row < at.n_q then
      local place = at.q == nil and row or at.q + row
      LSE[{place, at.head, at.batch}] = (rows.tops[r] + short_log2(rows.sums[r])) * LN_2
    end
  end
end

return M
