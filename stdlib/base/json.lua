-- json.lua: values of Lua as JSON text that may stand inside a script element of HTML.
local valid_text = require "cuttle.valid_text"
local M = {}

-- What stands for null in a table.
M.null = setmetatable({}, { __name = "json.null" })

local MAX_EXACT <const> = 1 << 53 -- JavaScript's numbers are exact up to here

local short = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }

local function escape(c) return short[c] or ("\\u%04x"):format(c:byte()) end

local function encode_string(s)
  -- "<" too, so that no text can end the script element or begin a comment in it
  return '"' .. valid_text.of(s):gsub('[%c"\\<>&\127]', escape) .. '"'
end

local function encode_number(n)
  if math.type(n) ~= "integer" then
    return ("%.17g"):format(n)
  end
  return n > -MAX_EXACT and n < MAX_EXACT and ("%d"):format(n) or ('"%d"'):format(n)
end

local encode -- (value, inside): the tables that the value stands in

local function encode_list(list, inside)
  local out = {}
  for i = 1, #list do out[i] = encode(list[i], inside) end
  return "[" .. table.concat(out, ",") .. "]"
end

local function encode_object(object, inside)
  local keys, out = {}, {}
  for key in pairs(object) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    out[i] = encode_string(key) .. ":" .. encode(object[key], inside)
  end
  return "{" .. table.concat(out, ",\n") .. "}"
end

local encoders = {
  string = encode_string, number = encode_number, boolean = tostring,
  table = function(t, inside)
    if t == M.null then return "null" end
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
-- order. Integers that JavaScript cannot hold exactly become texts.
function M.encode(value) return encode(value, {}) end

return M
