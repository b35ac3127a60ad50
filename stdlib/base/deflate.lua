-- deflate.lua: text as DEFLATE (RFC 1951), without a header: one block with fixed Huffman codes,
-- which needs no tables in front. M.deflate(text) returns the bytes; M.base64url(bytes) makes them
-- fit for a URL.
local M = {}

local MIN_MATCH <const>, MAX_MATCH <const> = 3, 258
local WINDOW <const> = 32768
local MAX_TRIES <const> = 32 -- places where a match is looked for
local END_OF_BLOCK <const> = 256
local FIXED_CODES <const> = 1

-- {====== Bits ======

-- Bits fill bytes from the lowest one on.
local Bits = {}
Bits.__index = Bits

function Bits:put(value, n)
  self.held = self.held | value << self.n
  self.n = self.n + n
  while self.n >= 8 do
    self.out[#self.out + 1] = string.char(self.held & 0xff)
    self.held, self.n = self.held >> 8, self.n - 8
  end
end

-- The bits of a code come highest first.
function Bits:put_code(code, n)
  local turned = 0
  for i = 0, n - 1 do turned = turned | (code >> i & 1) << n - 1 - i end
  self:put(turned, n)
end

function Bits:bytes()
  if self.n > 0 then self:put(0, 8 - self.n) end
  return table.concat(self.out)
end

-- {====== Symbols ======

-- {first symbol, number of the symbols, code of the first, bits}
local fixed = {
  { 0, 144, 0x30, 8 }, { 144, 112, 0x190, 9 }, { 256, 24, 0, 7 }, { 280, 8, 0xc0, 8 },
}

local function put_symbol(bits, symbol)
  for _, row in ipairs(fixed) do
    if symbol < row[1] + row[2] then return bits:put_code(row[3] + symbol - row[1], row[4]) end
  end
end

-- Rows {least value, extra bits} of symbols whose extra bits grow by one after every `per` of them,
-- the first 2 * per of them without any.
local function make_ranges(first, per, n)
  local ranges, value = {}, first
  for i = 0, n - 1 do
    local extra = math.max(0, i // per - 1)
    ranges[i] = { value, extra }
    value = value + (1 << extra)
  end
  return ranges
end

local lengths = make_ranges(MIN_MATCH, 4, 28)
lengths[28] = { MAX_MATCH, 0 } -- a symbol of its own
local distances = make_ranges(1, 2, 30)

-- Which row has the value, and what its extra bits say.
local function find(ranges, n, value)
  local at = n
  while ranges[at][1] > value do at = at - 1 end
  return at, value - ranges[at][1], ranges[at][2]
end

local function put_match(bits, length, distance)
  local symbol, rest, extra = find(lengths, 28, length)
  put_symbol(bits, END_OF_BLOCK + 1 + symbol)
  bits:put(rest, extra)
  symbol, rest, extra = find(distances, 29, distance)
  bits:put_code(symbol, 5)
  bits:put(rest, extra)
end

-- {====== Matches ======

local function match_length(text, a, b)
  local n, most = 0, math.min(MAX_MATCH, #text - b + 1)
  while n < most and text:byte(a + n) == text:byte(b + n) do n = n + 1 end
  return n
end

-- The longest match for what begins at `at`, among the latest places where its first bytes stood.
local function find_match(text, at, places)
  local best, where = MIN_MATCH - 1, nil
  for i = #places, math.max(1, #places - MAX_TRIES + 1), -1 do
    if at - places[i] > WINDOW then break end
    local n = match_length(text, places[i], at)
    if n > best then best, where = n, places[i] end
  end
  return where and best, where and at - where
end

local function remember(places, text, at)
  local key = text:sub(at, at + MIN_MATCH - 1)
  local list = places[key] or {}
  list[#list + 1] = at
  places[key] = list
end

-- {====== The functions ======

function M.deflate(text)
  local bits = setmetatable({ held = 0, n = 0, out = {} }, Bits)
  bits:put(1, 1) -- the last block
  bits:put(FIXED_CODES, 2)
  local places, at = {}, 1
  while at <= #text do
    local length, distance = find_match(text, at, places[text:sub(at, at + MIN_MATCH - 1)] or {})
    if length then put_match(bits, length, distance) else put_symbol(bits, text:byte(at)) end
    for i = at, at + (length or 1) - 1 do remember(places, text, i) end
    at = at + (length or 1)
  end
  put_symbol(bits, END_OF_BLOCK)
  return bits:bytes()
end

local DIGITS <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

-- Base64 in the alphabet of URLs, without padding.
function M.base64url(bytes)
  return (bytes:gsub("..?.?", function(group)
    local a, b, c = group:byte(1, 3)
    local word, out = a << 16 | (b or 0) << 8 | (c or 0), {}
    for i = 0, #group do
      local digit = (word >> 18 - 6 * i & 63) + 1
      out[#out + 1] = DIGITS:sub(digit, digit)
    end
    return table.concat(out)
  end))
end

return M
