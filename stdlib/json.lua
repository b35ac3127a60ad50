-- json.lua: values of Lua as JSON text that may stand inside a script element of HTML.
local M = {}

-- What stands for null in a table.
M.null = setmetatable({}, { __name = "json.null" })

local MAX_EXACT <const> = 1 << 53 -- JavaScript's numbers are exact up to here

local short = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }

local function escape(c) return short[c] or ("\\u%04x"):format(c:byte()) end

local function encode_string(s)
  -- "<" too, so that no text can end the script element or begin a comment in it
  return '"' .. s:gsub('[%c"\\<>&\127]', escape) .. '"'
end

local function encode_number(n)
  if math.type(n) ~= "integer" then
    return ("%.17g"):format(n)
  end
  return n > -MAX_EXACT and n < MAX_EXACT and ("%d"):format(n) or ('"%d"'):format(n)
end

local function encode_list(list)
  local out = {}
  for i = 1, #list do out[i] = M.encode(list[i]) end
  return "[" .. table.concat(out, ",") .. "]"
end

local function encode_object(object)
  local keys, out = {}, {}
  for key in pairs(object) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    out[i] = encode_string(key) .. ":" .. M.encode(object[key])
  end
  return "{" .. table.concat(out, ",\n") .. "}"
end

local encoders = {
  string = encode_string, number = encode_number, boolean = tostring,
  table = function(t)
    if t == M.null then return "null" end
    return (#t > 0 or next(t) == nil) and encode_list(t) or encode_object(t)
  end,
}

-- A table with entries from 1 on, or an empty one, is a list, any other an object with its keys in
-- order. Integers that JavaScript cannot hold exactly become texts.
function M.encode(value)
  local encoder = encoders[type(value)] or error("json: no JSON of a " .. type(value))
  return encoder(value)
end

return M
