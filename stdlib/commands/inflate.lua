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

-- The least value of a symbol whose extra bits grow by one after every `per` symbols, and how many
-- extra bits it has.
local function range(first, per, symbol)
  local extra = math.max(0, symbol // per - 1)
  local before = math.max(0, symbol - per * (extra + 1))
  return first + (extra == 0 and symbol or (per << extra) + (before << extra)), extra
end

local function turned_5(code)
  local out = 0
  for i = 0, 4 do out = out | (code >> i & 1) << 4 - i end
  return out
end

return function(bytes)
  local at, held, n, out, size = 1, 0, 0, {}, 0
  local function fill(width)
    while n < width do
      held, n, at = held | (bytes:byte(at) or 0) << n, n + 8, at + 1
    end
  end
  local function take(width)
    fill(width)
    local value = held & (1 << width) - 1
    held, n = held >> width, n - width
    return value
  end
  take(3)
  while true do
    fill(9)
    local symbol = symbols[held & 511]
    take(widths[held & 511])
    if symbol < END_OF_BLOCK then
      size = size + 1
      out[size] = string.char(symbol)
    elseif symbol == END_OF_BLOCK then
      return table.concat(out)
    else
      local length, extra = range(MIN_MATCH, 4, symbol - END_OF_BLOCK - 1)
      if symbol == 285 then length, extra = 258, 0 end
      length = length + take(extra)
      local distance, more = range(1, 2, turned_5(take(5)))
      distance = distance + take(more)
      for i = size + 1, size + length do out[i] = out[i - distance] end
      size = size + length
    end
  end
end
