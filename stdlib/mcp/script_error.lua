-- script_error.lua: errors of scripts, and findings, as data.
--   M.of(text[, source])   of an error's text: {message =, file =, line =, column =, what =,
--                          rule =, remedy =, edit =}; what is not known is left out
--   M.identify(message, page)   the id of a message and its values, as texts; nil: it has none.
--                          `page` is the text of docs/errors.md
--   M.add_id(fault, pages)   gives it `id` and `values`; `pages` is what mcp_pages.lua opens
--   M.text(value)          the text of what was raised
--   M.finding_edit(finding, source)   the edit that mends a finding, if its message says one
-- `source` is the text of the script, for columns and edits. An edit is {line =, column =,
-- end_line =, end_column =, text =}: the text takes the place of what stands from one column to
-- before the other, both from 1 on.
local lists = require "cuttle.lists"
local M = {}

-- {====== Ids ======

local MIN_LITERAL <const> = 10 -- letters of a format that is recognised by them
local MIN_BEGIN <const> = 9 -- or so many before its first conversion
local MANY_LETTERS <const> = 30 -- enough to recognise one that stands inside a message

local CONVERSION <const> = "%%[-+ #0]*[%d*]*%.?[%d*]*[hlzjLq]*([%a%%])"
local integers <const> = { d = true, i = true, u = true, I = true }

-- The pieces of a format between its conversions, and the conversions.
local function pieces_of(format)
  local pieces, kinds, at = {}, {}, 1
  for from, kind, stop in format:gmatch("()" .. CONVERSION .. "()") do
    if from >= at then
      pieces[#pieces + 1], kinds[#kinds + 1], at = format:sub(at, from - 1), kind, stop
    end
  end
  pieces[#pieces + 1] = format:sub(at)
  return pieces, kinds
end

local function quoted(text) return (text:gsub("%p", "%%%0")) end

-- After a number stand a noun in the plural, a verb, or both, and before it perhaps "there are":
-- after 1 they are in the singular (runtime/base/plural.c).
local NOUN <const>, THERE <const> = "^ %l+e?s%f[%A]", "there are $"
local verbs <const> = lists.set { "are", "have", "were", "wait" }

local function agreeing(piece)
  local noun = piece:match(NOUN) or ""
  local verb = piece:match("^ (%l+)%f[%A]", #noun + 1)
  return noun, verbs[verb] and " " .. verb or ""
end

-- The longest part of a piece that is the same for all numbers.
local function longest_of(pieces, kinds)
  local longest = ""
  for i, piece in ipairs(pieces) do
    if integers[kinds[i - 1]] then
      local noun, verb = agreeing(piece)
      piece = piece:sub(#noun + #verb + 1)
    end
    if integers[kinds[i]] then piece = piece:gsub(THERE, "") end
    if #piece > #longest then longest = piece end
  end
  return longest
end

-- The pattern of a piece, before and after numbers or not.
local function piece_pattern(piece, is_after, is_before)
  local head, tail = "", ""
  if is_after then
    local noun, verb = agreeing(piece)
    local stem, ending = noun:match "^(.-)(e?s)$"
    head = (stem and quoted(stem) .. (ending == "es" and "e?s?" or "s?") or "")
      .. (verb ~= "" and " %l+" or "")
    piece = piece:sub(#noun + #verb + 1)
  end
  if is_before and piece:find(THERE) then
    piece, tail = piece:gsub(THERE, ""), "there %l+ "
  end
  return head .. quoted(piece) .. tail
end

local function pattern_of(pieces, kinds)
  local parts = {}
  for i, piece in ipairs(pieces) do
    local kind = kinds[i]
    parts[#parts + 1] = piece_pattern(piece, integers[kinds[i - 1]], integers[kind])
    local is_last = i == #kinds and pieces[i + 1] == ""
    parts[#parts + 1] = kind and (kind == "%" and "%%" or integers[kind] and "(%-?%d+)"
      or is_last and "(.*)" or "(.-)")
  end
  return table.concat(parts)
end

local rows

-- The pieces without the name of an operation that the first begins with; nil: it does not, or the
-- rest is too short.
local function unnamed(pieces, literal)
  local name, rest = pieces[1]:match "^([%w_.]+): (.*)"
  if not name or literal - #name < MIN_LITERAL then return nil end
  return { rest, table.unpack(pieces, 2) }
end

-- {id =, literal =, key =, pattern =, n =, is_part =, may_follow =, unnamed =}, the most literal
-- first. `unnamed` is the pattern without an operation's name, since another may raise the message.
local function read_rows(page)
  if rows then return rows end
  rows = {}
  for id, format in page:gmatch "%f[^\n](CE%-%d+) ([^\n]+)" do
    local part = format:match "^%.%.%.(.*)"
    local pieces, kinds = pieces_of(((part or format):gsub("\\n", "\n")))
    local _, literal = table.concat(pieces):gsub("%a", "")
    local _, first = pieces[1]:gsub("%a", "")
    if literal >= MIN_LITERAL or first >= MIN_BEGIN then
      local rest = unnamed(pieces, literal)
      rows[#rows + 1] = { id = id, literal = literal, n = #kinds,
                          key = longest_of(rest or pieces, kinds),
                          pattern = pattern_of(pieces, kinds), is_part = part ~= nil,
                          may_follow = part ~= nil or first >= MIN_LITERAL
                            or first > 0 and literal >= MANY_LETTERS,
                          unnamed = rest and pattern_of(rest, kinds) }
    end
  end
  table.sort(rows, lists.by("-literal", "id"))
  return rows
end

-- Functions of a message and a pattern: what it captures at the message's start, or after `before`.
local function captures_after(before)
  return function(message, pattern)
    local found = table.pack(message:match("^" .. pattern))
    if found[1] == nil then found = table.pack(message:match(before .. pattern)) end
    return found
  end
end

-- Before it is an operation's name, or what the message is about, as in "x (4,2) is closed".
local captures_of, captures_of_part = captures_after ": ", captures_after " "

local function find_row(message, page, captures, pattern_for)
  for _, row in ipairs(read_rows(page)) do
    local pattern = pattern_for(row)
    if pattern and message:find(row.key, 1, true) then
      local found = captures(message, pattern)
      if found[1] ~= nil then return row, found end
    end
  end
end

local ways <const> = {
  { captures_of, function(row) return not row.is_part and row.pattern end },
  { captures_of_part, function(row) return row.may_follow and row.pattern end },
  { captures_of, function(row) return row.unnamed end },
}

-- Whole formats come first, so that a part never takes the id of a message that has one.
function M.identify(message, page)
  for _, way in ipairs(ways) do
    local row, found = find_row(message, page, way[1], way[2])
    if row then return row.id, row.n > 0 and table.move(found, 1, found.n, 1, {}) or {} end
  end
end

function M.add_id(fault, pages)
  local page = pages.read "cuttle://docs/errors.md"
  if page then fault.id, fault.values = M.identify(fault.message, page.text) end
end

-- {====== Edits ======

local function line_of(source, number)
  local n = 0
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    if n == number then return line end
  end
end

-- Where the name stands in the line, if that is once.
local function column_of(line, name)
  local pattern = "%f[%w_]()" .. quoted(name) .. "%f[^%w_]"
  local first = line:match(pattern)
  local second = first and line:match(pattern, first + #name)
  return not second and first or nil
end

-- {name that is there, name that was meant} of messages about names.
local function renaming(message)
  local name = message:match "%(%a+ '([%a_][%w_]*)'%)"
  if not name then return nil end
  return name, message:match "; did you mean '([%a_][%w_]*)'%?$"
    or message:match("; " .. name .. " is ([%a_][%w_]*) here$")
end

local function edit_of(message, number, source)
  local line = source and number and line_of(source, number)
  local name, meant = renaming(message)
  local column = line and name and column_of(line, name)
  if not (column and meant) then return column, nil end
  return column, { line = number, column = column, end_line = number, end_column = column + #name,
                   text = meant }
end

function M.finding_edit(finding, source)
  local call, from = finding.message:match "put ([%a_]+%(%)) between line (%d+) and line %d+"
  local number = math.tointeger(tonumber(from))
  local line = number and source and line_of(source, number)
  if not line or number + 1 > finding.line then return nil end
  return { line = number + 1, column = 1, end_line = number + 1, end_column = 1,
           text = line:match "^%s*" .. call .. "\n" }
end

-- {====== The whole ======

function M.of(text, source)
  local file, line, message = text:match "^([^\n:]+):(%d+): (.*)$"
  message = message or text
  local number = math.tointeger(tonumber(line))
  local parts = {}
  for part in (message .. "; "):gmatch "(.-); " do parts[#parts + 1] = part end
  local column, edit = edit_of(message, number, source)
  return { message = message, file = file, line = number, column = column, edit = edit,
           what = parts[1], remedy = #parts > 1 and parts[#parts] or nil,
           rule = #parts > 2 and table.concat(parts, "; ", 2, #parts - 1) or nil }
end

function M.text(value)
  if type(value) == "string" then return value end
  local has_text = getmetatable(value) and getmetatable(value).__tostring
  return has_text and tostring(value)
    or ("the error is a %s, not a message"):format(type(value))
end

return M
