-- dropout.lua: what dropout drops: 24 random bits of a row and a column, by Philox from a seed.
-- Bits below the least that are kept drop. A call of Philox makes the bits of four elements: in
-- rows, of four neighbouring columns; in attention, of a square.
local internal = ...
local M = {}

local BITS <const> = 24

local function long(x) return internal.kernel.is_tracing() and cast(x, i64) or x end

--- The random words of a row and four neighbouring columns, those from 4 * quarter on. `stream`
--- tells apart what has the same rows and columns, such as heads.
function M.words(seed, row, quarter, stream)
  return { rand_u32x4(seed, long(quarter) * (1 << 32) + row, stream) }
end

local function below_8(i) return i // 16 * 8 + i % 8 end

--- The random words of the square that has query q and key k. The four elements of a square are of
--- two queries and two keys, 8 apart, the first of which modulo 16 are below 8. A thread has all
--- four in the sums of a product of queries with keys, and of one of keys with queries.
function M.square(seed, q, k, stream)
  return { rand_u32x4(seed, long(below_8(k)) * (1 << 32) + below_8(q), stream) }
end

--- Which of its square's words an element has, from 0.
function M.in_square(q, k) return 2 * (q // 8 % 2) + k // 8 % 2 end

--- The stream of a batch's head.
function M.stream(batch, head) return long(batch) * (1 << 32) + head end

--- The bits of a word.
function M.bits_of(word)
  local bits = word >> 32 - BITS
  return internal.kernel.is_tracing() and cast(bits, i32) or bits
end

--- The bits of word i, from 0, which the kernel may not know before it runs.
function M.bits(words, i)
  local a, b, c, d = table.unpack(words)
  return M.bits_of(where(i == 0, a, where(i == 1, b, where(i == 2, c, d))))
end

--- The least bits that are kept, the seed, and the factor of what is kept; fail(format, ...) for
--- numbers that are none of dropout's. `what`: of what it drops a share.
function M.numbers(fail, what, p, seed)
  if type(p) ~= "number" or p < 0 or p >= 1 or p ~= p then
    fail("dropout is %s; expected the share of %s that become 0, from 0 to less than 1",
      tostring(p), what)
  elseif math.type(seed) ~= "integer" or seed < 0 or seed > 0x7fffffff then
    fail("seed is %s; dropout needs an integer from 0 to 2147483647, a new one for each call",
      tostring(seed))
  end
  return math.floor(p * (1 << BITS)), seed, 1 / (1 - p)
end

return M
