-- pretty.lua: a table as text for the eye: on one line where it fits, else indented lines. Reads
-- tables without their metamethods; what has __tostring stands as that says.
local M = {}

local MAX_DEPTH <const> = 5    -- levels of tables that are opened
local MAX_ITEMS <const> = 256  -- of one table without a key,
local MAX_KEYS <const> = 32    -- and with one
local MAX_VALUES <const> = 1024 -- in all
local MAX_TEXT <const> = 200   -- bytes of a string in a table

local concat, format = table.concat, string.format
local rank_of_type = { number = 1, string = 2, boolean = 3 }

-- Whether a value is shown by its contents.
local function is_open(value)
  if type(value) ~= "table" then
    return false
  end
  local meta = getmetatable(value)
  return meta == nil or (type(meta) == "table" and rawget(meta, "__tostring") == nil)
end

local function quote(text)
  local cut = #text > MAX_TEXT
  local shown = format("%q", cut and text:sub(1, MAX_TEXT) or text)
  shown = shown:gsub("\\\n", "\\n")
  return cut and format("%s... (%d bytes)", shown, #text) or shown
end

-- A value that is not opened: its first line.
local function leaf(value)
  if type(value) == "string" then
    return quote(value)
  end
  local text = tostring(value)
  local line = text:match("^[^\n]*")
  return #line < #text and line .. " ..." or line
end

local function key_text(key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then
    return key
  end
  return "[" .. leaf(key) .. "]"
end

local function comes_before(a, b)
  local rank_a, rank_b = rank_of_type[type(a)] or 4, rank_of_type[type(b)] or 4
  if rank_a ~= rank_b then
    return rank_a < rank_b
  elseif rank_a <= 2 then
    return a < b
  end
  return tostring(a) < tostring(b)
end

-- The keys that are not 1..n, in order.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    if math.type(key) ~= "integer" or key < 1 or key > n then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, comes_before)
  return keys
end

local render

-- The texts of what is in t: items[i], and how many of them have no key.
local function item_texts(state, t, width, depth)
  local n, items = 0, {}
  while rawget(t, n + 1) ~= nil do
    n = n + 1
  end
  for i = 1, math.min(n, MAX_ITEMS) do
    items[i] = render(state, t[i], width, depth)
  end
  local n_plain, keys = #items, other_keys(t, n)
  for i = 1, math.min(#keys, MAX_KEYS) do
    local key = key_text(keys[i])
    items[#items + 1] = key .. " = " .. render(state, rawget(t, keys[i]), width - #key - 3, depth)
  end
  local left = n + #keys - #items
  if left > 0 then
    items[#items + 1] = format("... %d more", left)
  end
  return items, n_plain
end

-- Items without a key fill lines; the others have a line each.
local function fill(items, n_plain, width)
  local lines, line = {}, ""
  for i, item in ipairs(items) do
    local fits = #line + #item + 3 <= width and not item:find("\n", 1, true)
    if line ~= "" and not (i <= n_plain and fits) then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. (line == "" and "" or " ") .. item .. (i < #items and "," or "")
    if item:find("\n", 1, true) then
      lines[#lines + 1] = line
      line = ""
    end
  end
  if line ~= "" then
    lines[#lines + 1] = line
  end
  return lines
end

local function name_of(t)
  local meta = getmetatable(t)
  local name = meta and rawget(meta, "__name")
  return type(name) == "string" and name .. " " or ""
end

local function render_table(state, t, width, depth)
  if state.open[t] then
    return "<cycle>"
  elseif depth == MAX_DEPTH and next(t) ~= nil then
    return "{...}"
  end
  state.open[t] = true
  local items, n_plain = item_texts(state, t, width - 2, depth + 1)
  state.open[t] = nil
  local line = name_of(t) .. "{" .. concat(items, ", ") .. "}"
  if #line <= width and not line:find("\n", 1, true) then
    return line
  end
  local body = concat(fill(items, n_plain, width - 2), "\n")
  return name_of(t) .. "{\n  " .. body:gsub("\n", "\n  ") .. "\n}"
end

function render(state, value, width, depth)
  if state.left == 0 then
    return "..."
  end
  state.left = state.left - 1
  return is_open(value) and render_table(state, value, width, depth) or leaf(value)
end

--- The text of a value: a table by its contents, anything else as tostring has it.
---@param value any
---@param width integer columns that a line may take
---@return string
function M.text(value, width)
  if not is_open(value) then
    return tostring(value)
  end
  return render({ left = MAX_VALUES, open = {} }, value, width, 0)
end

return M
