-- selection_counts.lua: how often each value of bf16 occurs in a row that a block reads once. A
-- value between 2^-10 and 63.75, or between -63.75 and -2^-10, has a bin of its own in shared
-- memory. Smaller and larger ones are in the next bin, so what they weigh is known up to a doubt.
local M = {}

local LEAST <const>, MOST <const> = 0x3a80, 0x427f -- the bits of 2^-10 and of 63.75
local EACH <const> = MOST - LEAST + 1 -- bins of a sign: 2048
local BINS <const> = 2 * EACH
local HALVES <const> = 0x00010001 -- the same in both halves of a word

--- Are values of that type counted?
function M.counts(dtype) return dtype == bf16 end

--- The block's counts, all 0 when its threads have met.
function M.new(c)
  local counts = shared(i32, BINS)
  for i in range(threadIdx.x, BINS, c.threads) do counts[i] = 0 end
  return counts
end

--- Counts the values of a word: two of bf16.
function M.add(counts, word)
  local sizes = bf16x2.max(word & HALVES * 0x7fff, u32(HALVES * LEAST))
  sizes = bf16x2.min(sizes, u32(HALVES * MOST)) - u32(HALVES * LEAST)
  local bins = sizes | word >> 4 & HALVES * EACH
  atomic_add(counts, cast(bins & 0xffff, i32), 1)
  atomic_add(counts, cast(bins >> 16, i32), 1)
end

local function value_of(bin)
  local bits = cast(bin & EACH - 1, u32) + LEAST
  return bitcast(bits << 16 | cast(bin & EACH, u32) << 20, f32)
end

-- How much more a value below 2^-10 may weigh than 2^-10, relative to it.
local function doubt_of_small(d)
  local x = d.factor * f32(math.log(2) * 2.0 ^ -10)
  return where(x < 1.0, x * (x + 1.0), math.huge)
end

-- What the elements of a bin may weigh more or less than the sum says.
local function doubt_of(bin, weight, small)
  local place = bin & EACH - 1
  local share = where(place == 0, small, where(bin == BINS - 1, f32(1), 0.0))
  return where(bin == EACH - 1, math.huge, where(share > 0.0, weight * share, 0.0))
end

--- {[0] = the weight of all elements, of those above each value of the list ...} of the thread's
--- bins, and the doubt.
function M.weights_above(c, counts, d, top, values)
  local sums, doubts = {}, cast(0, f32)
  for i = 0, #values do sums[i] = cast(0, f32) end
  local small = doubt_of_small(d)
  for bin in range(threadIdx.x, BINS, c.threads) do
    local n, v = counts[bin], value_of(bin)
    local w = d.by.power_below(min(v, top), top) * cast(n, f32)
    sums[0] = sums[0] + w
    for i = 1, #values do sums[i] = sums[i] + where(v > values[i], w, 0.0) end
    if n > 0 then doubts = doubts + doubt_of(bin, w, small) end
  end
  return sums, doubts
end

--- May other elements than those in the bins above it be larger than v?
function M.is_unsure(v) return abs(v) <= 2.0 ^ -10 end

return M
