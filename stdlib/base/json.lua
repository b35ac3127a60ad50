-- json.lua: values of Lua as JSON text that may stand inside a script element of HTML, and back.
--   M.encode(value)        the text
--   M.encode_line(value)   the same in one line
--   M.decode(text)         the value; nil and what is wrong. It takes what RFC 8259 allows and
--                          nothing else, up to MAX_DEPTH values inside each other
local lists = require "cuttle.lists"
local valid_text = require "cuttle.valid_text"
local M = {}

-- What stands for null in a table.
M.null = setmetatable({}, { __name = "json.null" })

-- A table without fields that is an object.
M.object = setmetatable({}, { __name = "json.object" })

local MAX_EXACT <const> = 1 << 53 -- JavaScript's numbers are exact up to here

local short = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }

local function escape(c) return short[c] or ("\\u%04x"):format(c:byte()) end

local function encode_string(s)
  -- "<" too, so that no text can end the script element or begin a comment in it
  return '"' .. valid_text.of(s):gsub('[%c"\\<>&\127]', escape) .. '"'
end

local function encode_number(n)
  if n ~= n then return "null" end
  if n == math.huge or n == -math.huge then return n > 0 and "1e999" or "-1e999" end
  if math.type(n) ~= "integer" then return ("%.17g"):format(n) end
  return n > -MAX_EXACT and n < MAX_EXACT and ("%d"):format(n) or ('"%d"'):format(n)
end

local encode -- (value, inside): the tables that the value stands in

local function encode_list(list, inside)
  local out = {}
  for i = 1, #list do out[i] = encode(list[i], inside) end
  return "[" .. table.concat(out, ",") .. "]"
end

local function encode_object(object, inside)
  local out = lists.map(lists.keys(object), function(key)
    return encode_string(key) .. ":" .. encode(object[key], inside)
  end)
  return "{" .. table.concat(out, ",\n") .. "}"
end

local encoders = {
  string = encode_string, number = encode_number, boolean = tostring,
  table = function(t, inside)
    if t == M.null or t == M.object then return t == M.null and "null" or "{}" end
    if inside[t] then error("json: a table that is in itself has no JSON") end
    inside[t] = true
    local is_list = #t > 0 or next(t) == nil
    local text = is_list and encode_list(t, inside) or encode_object(t, inside)
    inside[t] = nil
    return text
  end,
}

function encode(value, inside)
  local encoder = encoders[type(value)] or error("json: no JSON of a " .. type(value))
  return encoder(value, inside)
end

-- A table with entries from 1 on, or an empty one, is a list, any other an object with its keys in
-- order. Integers that JavaScript cannot hold exactly become texts, NaN null, and infinity a number
-- that no double holds.
function M.encode(value) return encode(value, {}) end

-- In texts, line ends are escaped, so all that remain are between values.
function M.encode_line(value) return (M.encode(value):gsub("\n", "")) end

-- {====== Reading ======

local MAX_DEPTH <const> = 100

local named <const> = { ["true"] = true, ["false"] = false, null = M.null }
local unescaped <const> = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n",
                            r = "\r", t = "\t" }

-- What is wrong ends the reading as this error.
local function refuse(at, what) error({ message = ("%s at byte %d"):format(what, at) }, 0) end

local function skip(text, at) return text:match("^[ \t\n\r]*()", at) end

-- A number of JSON is one of Lua, but 01, 1. and .5 are none. Integers that do not fit are floats.
local function read_number(text, at)
  local whole, stop = text:match("^(-?%d+)()", at)
  if not whole or whole:find "^-?0%d" then refuse(at, "a number was expected") end
  stop = text:match("^%.%d+()", stop) or stop
  stop = text:match("^[eE][+-]?%d+()", stop) or stop
  return tonumber(text:sub(at, stop - 1)), stop
end

local function hex_at(text, at)
  local digits = text:match("^%x%x%x%x", at) or refuse(at, "four hexadecimal digits were expected")
  return tonumber(digits, 16)
end

-- The character of \uXXXX, whose X begin at `at`. Half of a surrogate pair alone is no character.
local function read_unicode(text, at)
  local code = hex_at(text, at)
  if code < 0xD800 or code > 0xDFFF then return utf8.char(code), at + 4 end
  if code > 0xDBFF or text:sub(at + 4, at + 5) ~= "\\u" then
    refuse(at, "half of a surrogate pair")
  end
  local low = hex_at(text, at + 6)
  if low < 0xDC00 or low > 0xDFFF then refuse(at + 6, "half of a surrogate pair") end
  return utf8.char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 10
end

local function read_escape(text, at)
  local c = text:sub(at, at)
  if c == "u" then return read_unicode(text, at + 1) end
  return unescaped[c] or refuse(at, "an unknown escape"), at + 1
end

local function read_string(text, at)
  local parts = {}
  at = at + 1
  while true do
    parts[#parts + 1], at = text:match('^([^"\\%c]*)()', at)
    local c = text:sub(at, at)
    if c == '"' then return table.concat(parts), at + 1 end
    if c == "\127" then
      parts[#parts + 1], at = c, at + 1
    elseif c == "\\" then
      parts[#parts + 1], at = read_escape(text, at + 1)
    else
      refuse(at, c == "" and "a text without end" or "a control character in a text")
    end
  end
end

local read_value

-- The items between two brackets: read_item(at) reads one and gives where it ends.
local function read_items(text, at, closing, read_item)
  at = skip(text, at + 1)
  if text:sub(at, at) == closing then return at + 1 end
  while true do
    at = skip(text, read_item(at))
    local c = text:sub(at, at)
    if c == closing then return at + 1 end
    if c ~= "," then refuse(at, ("',' or '%s' was expected"):format(closing)) end
    at = skip(text, at + 1)
  end
end

local function read_list(text, at, depth)
  local list = {}
  local stop = read_items(text, at, "]", function(from)
    local value, after = read_value(text, from, depth)
    list[#list + 1] = value
    return after
  end)
  return list, stop
end

local function read_object(text, at, depth)
  local object = {}
  local stop = read_items(text, at, "}", function(from)
    if text:sub(from, from) ~= '"' then refuse(from, "a name in quotes was expected") end
    local name, after = read_string(text, from)
    after = skip(text, after)
    if text:sub(after, after) ~= ":" then refuse(after, "':' was expected") end
    object[name], after = read_value(text, skip(text, after + 1), depth)
    return after
  end)
  return object, stop
end

local brackets <const> = { ["["] = read_list, ["{"] = read_object }

function read_value(text, at, depth)
  local c = text:sub(at, at)
  if brackets[c] then
    if depth == MAX_DEPTH then refuse(at, "too many values inside each other") end
    return brackets[c](text, at, depth + 1)
  end
  if c == '"' then return read_string(text, at) end
  local word, stop = text:match("^(%l+)()", at)
  if word then
    if named[word] == nil then refuse(at, "an unknown word") end
    return named[word], stop
  end
  return read_number(text, at)
end

-- Objects are tables with their names, lists tables from 1 on, null is M.null. Of a name that comes
-- twice the last value counts.
function M.decode(text)
  if not utf8.len(text) then return nil, "the text is not UTF-8" end
  local ok, value, stop = pcall(read_value, text, skip(text, 1), 0)
  if ok then
    local rest = skip(text, stop)
    if rest > #text then return value end
    ok, value = false, { message = ("more text after the value at byte %d"):format(rest) }
  end
  if type(value) ~= "table" or ok then error(value, 0) end
  return nil, value.message
end

return M
