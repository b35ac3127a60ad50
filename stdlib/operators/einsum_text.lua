-- einsum_text.lua: what a text such as "bmk,bnk->bmn" says: the letters of the modes of each
-- operand and of the result.
local errors = require "cuttle.fail"
local type_name = require "cuttle.type_name"
local M = {}

local DOTS <const> = "..."

local function fail(format, ...) errors.fail("einsum", format, ...) end

-- The letters of one operand or of the result, "..." as one of them.
local function letters(part, text)
  local list, at = {}, 1
  while at <= #part do
    local c = part:sub(at, at)
    if part:sub(at, at + 2) == DOTS then
      list[#list + 1], at = DOTS, at + 3
    elseif c:find "%a" then
      list[#list + 1], at = c, at + 1
    else
      fail("'%s' in '%s' is no letter; each letter stands for a mode, and '...' for those before "
        .. "them", c, text)
    end
  end
  return list
end

local function index_of(list, wanted, from)
  for i = from or 1, #list do
    if list[i] == wanted then return i end
  end
end

-- "...", n of them, counted from the last, as names that are no letters; equal names are one mode.
local function dotted(n)
  local names = {}
  for i = 1, n do names[i] = DOTS .. n - i end
  return names
end

-- The list with these names in place of "...".
local function with_dots(list, names, text)
  local at = index_of(list, DOTS)
  if not at then return list end
  if index_of(list, DOTS, at + 1) then fail("'...' is twice in a part of '%s'", text) end
  local out = table.move(list, 1, at - 1, 1, {})
  table.move(names, 1, #names, at, out)
  return table.move(list, at + 1, #list, #out + 1, out)
end

-- The modes of operand i, of this rank.
local function operand(list, i, rank, text)
  local has_dots = index_of(list, DOTS) ~= nil
  local n_dots = rank - #list + (has_dots and 1 or 0)
  if n_dots < 0 or n_dots > 0 and not has_dots then
    fail("operand %d has rank %d, but '%s' gives it %d modes", i, rank, text,
      #list - (has_dots and 1 or 0))
  end
  return with_dots(list, dotted(n_dots), text), n_dots
end

-- Without "->": what "..." stands for, then the letters that are there once, as in the alphabet.
local function implied(operands, n_dots)
  local count, once = {}, {}
  for _, names in ipairs(operands) do
    for _, name in ipairs(names) do count[name] = (count[name] or 0) + 1 end
  end
  for name, n in pairs(count) do
    if n == 1 and name:find "^%a" then once[#once + 1] = name end
  end
  table.sort(once)
  return table.move(once, 1, #once, n_dots + 1, dotted(n_dots))
end

local function check_result(result, operands, text)
  local known, seen = {}, {}
  for _, names in ipairs(operands) do
    for _, name in ipairs(names) do known[name] = true end
  end
  for _, name in ipairs(result) do
    if not known[name] then
      fail("'%s' of the result is in no operand of '%s'", name, text)
    elseif seen[name] then
      fail("'%s' is twice in the result of '%s'; each mode of the result needs a letter of its own",
        name, text)
    end
    seen[name] = true
  end
end

-- "bmk,bnk" as a list of parts.
local function split(inputs)
  local parts = {}
  for part in (inputs .. ","):gmatch "([^,]*)," do parts[#parts + 1] = part end
  return parts
end

--- How many operands a text has.
function M.count(text)
  if type(text) ~= "string" then
    fail("argument 1 is of type %s; expected a text such as \"bmk,bnk->bmn\"", type_name(text))
  end
  return #split(text:match "^(.-)%->" or text)
end

--- operands, result: the names of the modes of each operand and of the result, for operands of
--- these ranks.
function M.read(text, ranks)
  local plain = text:gsub("%s", "")
  local inputs, output = plain:match "^(.-)%->(.*)$"
  local operands, most_dots = {}, 0
  for i, part in ipairs(split(inputs or plain)) do
    local n_dots
    operands[i], n_dots = operand(letters(part, text), i, ranks[i], text)
    most_dots = math.max(most_dots, n_dots)
  end
  local result = output and with_dots(letters(output, text), dotted(most_dots), text)
    or implied(operands, most_dots)
  check_result(result, operands, text)
  return operands, result
end

return M
