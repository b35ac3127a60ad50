-- selection_vectors.lua: one read of a long row by a block, which keeps the largest element of each
-- group of vectors in shared memory. c has threads, width (elements of a vector), n (vectors of a
-- row), dtype and each (vectors of a group, 1 or 2); row has x, the flat tensor, and `start`, the
-- number of its first vector.
local call = require "cuttle.selection_call"
local counts = require "cuttle.selection_counts"
local M = {}

--- Vectors that a thread has on their way at once.
M.BATCH = 8
local BATCH <const> = M.BATCH
local VECTOR_BYTES <const>, LEAST_COLUMNS <const> = 16, 16384
local MOST_BYTES <const>, OTHER_BYTES <const> = 131072, 49152 -- of vectors' largest; of all else

--- The width of such vectors and their number, nil if rows of x, as selection_call.lua describes
--- it, are too short, not made of whole vectors, or have elements of 8 bytes.
function M.of_rows(x)
  local bytes = x.tensor.dtype.bytes
  local width = VECTOR_BYTES // bytes
  local n = x.columns // width
  if bytes <= 4 and x.columns >= LEAST_COLUMNS and x.columns % width == 0
    and n * bytes <= MOST_BYTES and n * bytes + OTHER_BYTES <= call.target(x).shared then
    return width, n
  end
end

--- f(at, now) of the thread's vectors, a batch at a time: the i-th one, from 0 to last, is
--- now(_, i), vector at[i] of the row; after the row it is the last one again.
function M.each_batch(c, row, f)
  for first in range(threadIdx.x, c.n, BATCH * c.threads) do
    local now, at = fragment(row.x.dtype, { c.width, BATCH }), {}
    for i = 0, BATCH - 1 do
      at[i] = first + i * c.threads
      copy(tile(row.x, { c.width }, { row.start + min(at[i], c.n - 1) }), now(_, i))
    end
    f(at, now, BATCH - 1)
  end
end

--- How many batches a thread has.
function M.batches(c) return cdiv(c.n, BATCH * c.threads) end

--- The number of the i-th vector of the thread's batch b: a batch has vectors of all of the row.
function M.number_of(c, b, i) return threadIdx.x + c.threads * (i * M.batches(c) + b) end

--- Batch b of the thread's vectors, on its way. batch.each(f) calls f(i, v, number, most) with the
--- i-th one's elements, number and largest element: -inf beyond the row.
function M.batch(c, row, b)
  local now, batch = fragment(row.x.dtype, { c.width, BATCH }), {}
  for i = 0, BATCH - 1 do
    local number = min(M.number_of(c, b, i), c.n - 1)
    copy(tile(row.x, { c.width }, { row.start + number }), now(_, i))
  end
  function batch.each(f)
    for i = 0, BATCH - 1 do
      local number, most = M.number_of(c, b, i), M.largest_of(c, now(_, i))
      if M.is_in(c, number) ~= true then most = where(number < c.n, most, -math.huge) end
      f(i, now(_, i), number, most)
    end
  end
  return batch
end

--- Is there a vector of that number? `true` where all threads have as many.
function M.is_in(c, at) return c.n % (BATCH * c.threads) == 0 or at < c.n end

local halves <const> = { [f16] = f16x2, [bf16] = bf16x2 }

--- The largest number of a vector, an f32; -inf: it has none.
function M.largest_of(c, now)
  local two, lowest = halves[now.dtype], cast(-math.huge, f32)
  if not two then
    for e = 0, c.width - 1 do lowest = max(lowest, now[e]) end
    return lowest
  end
  local words = recast(now, u32)
  local most = words[0]
  for i = 1, size(words) - 1 do most = two.max(most, words[i]) end
  local low, high = two.unpack(most)
  return max(max(lowest, low), high)
end

-- The largest number of vector `at`, which is v; -inf after the row.
local function largest_in(c, row, at, v)
  local most = M.largest_of(c, v)
  if row.counts and M.is_in(c, at) then
    local words = recast(v, u32)
    for e = 0, size(words) - 1 do counts.add(row.counts, words[e]) end
  end
  if M.is_in(c, at) ~= true then most = where(at < c.n, most, -math.huge) end
  return most
end

-- f(i, at, v) of the thread's vectors, one after the other; the next `ahead` ones are on their way.
local function each_in_turn(c, row, ahead, f)
  local n, now = M.batches(c) * BATCH, fragment(row.x.dtype, { c.width, ahead })
  local function load(i)
    local at = min(threadIdx.x + i * c.threads, c.n - 1)
    copy(tile(row.x, { c.width }, { row.start + at }), now(_, i % ahead))
  end
  for i = 0, ahead - 1 do load(i) end
  for i = 0, n - 1 do
    f(i, threadIdx.x + i * c.threads, now(_, i % ahead))
    if i + ahead < n then load(i + ahead) end
  end
end

--- How many groups of c.each vectors a row has, 1 or 2: all threads have as many.
function M.groups(c) return M.batches(c) * BATCH // c.each * c.threads end

--- The number of the i-th vector of a group, i from 0 on.
function M.of_group(c, group, i)
  if c.each == 1 then return group end
  return group + (group // c.threads + i) * c.threads
end

--- Puts the largest number of each group of a thread's vectors into `largest`, and calls f(most)
--- for the groups of each batch, f32, from 0 on; -inf after the row. With row.counts all values are
--- counted.
function M.keep_largest(c, row, largest, f)
  local function keep(most, i, group, at, v)
    local j, own = i % BATCH // c.each, largest_in(c, row, at, v)
    most[j] = i % c.each == 0 and own or max(most[j], own)
    if (i + 1) % c.each == 0 then largest[group] = cast(most[j], largest.dtype) end
    if i % BATCH == BATCH - 1 then f(most) end
  end
  if c.dtype.bytes > 2 then
    return M.each_batch(c, row, function(at, now, last)
      local most, first = {}, threadIdx.x + (at[0] - threadIdx.x) // c.each
      for i = 0, last do keep(most, i, first + i // c.each * c.threads, at[i], now(_, i)) end
    end)
  end
  local most = {}
  each_in_turn(c, row, row.counts and 2 or 4, function(i, at, v)
    keep(most, i, threadIdx.x + i // c.each * c.threads, at, v)
  end)
end

return M
