-- inflate.lua: the text that deflate.lua made bytes of: one block with fixed Huffman codes. The
-- binary carries scripts and styles of pages so.
local MIN_MATCH <const>, END_OF_BLOCK <const> = 3, 256

-- By the next 9 bits, the first of them lowest: the symbol, and how many bits it has.
local symbols, widths = {}, {}

local function add_codes(first, n, code, width)
  for symbol = first, first + n - 1 do
    local turned = 0
    for i = 0, width - 1 do turned = turned | (code >> i & 1) << width - 1 - i end
    for rest = 0, (1 << 9 - width) - 1 do
      symbols[turned | rest << width], widths[turned | rest << width] = symbol, width
    end
    code = code + 1
  end
end
add_codes(0, 144, 0x30, 8)
add_codes(144, 112, 0x190, 9)
add_codes(256, 24, 0, 7)
add_codes(280, 8, 0xc0, 8)

-- The least values of symbols whose extra bits grow by one after every `per` symbols, and how many
-- extra bits they have.
local function ranges(first, per, n)
  local least, extras = {}, {}
  for symbol = 0, n - 1 do
    local extra = math.max(0, symbol // per - 1)
    local before = math.max(0, symbol - per * (extra + 1))
    least[symbol] = first + (extra == 0 and symbol or (per << extra) + (before << extra))
    extras[symbol] = extra
  end
  return least, extras
end
local lengths, length_extras = ranges(MIN_MATCH, 4, 29)
lengths[28], length_extras[28] = 258, 0
local distances, distance_extras = ranges(1, 2, 30)

-- Codes of distances by their bits as they come.
local turned_5, chars = {}, {}
for code = 0, 31 do
  local turned = 0
  for i = 0, 4 do turned = turned | (code >> i & 1) << 4 - i end
  turned_5[code] = turned
end
for symbol = 0, END_OF_BLOCK - 1 do chars[symbol] = string.char(symbol) end

-- Symbol, distance and the extra bits of both have 31 bits at most.
return function(bytes)
  local unpack, out, size = string.unpack, {}, 0
  bytes = bytes .. ("\0"):rep(8)
  local held, n, at = bytes:byte(1) >> 3, 5, 2
  while true do
    if n < 32 then
      held, n, at = held | unpack("<I4", bytes, at) << n, n + 32, at + 4
    end
    local symbol, width = symbols[held & 511], widths[held & 511]
    held, n = held >> width, n - width
    if symbol < END_OF_BLOCK then
      size = size + 1
      out[size] = chars[symbol]
    elseif symbol == END_OF_BLOCK then
      return table.concat(out)
    else
      symbol = symbol - END_OF_BLOCK - 1
      local extra = length_extras[symbol]
      local length = lengths[symbol] + (held & (1 << extra) - 1)
      held, n = held >> extra, n - extra
      symbol = turned_5[held & 31]
      held, n, extra = held >> 5, n - 5, distance_extras[symbol]
      local distance = distances[symbol] + (held & (1 << extra) - 1)
      held, n = held >> extra, n - extra
      for i = size + 1, size + length do out[i] = out[i - distance] end
      size = size + length
    end
  end
end
