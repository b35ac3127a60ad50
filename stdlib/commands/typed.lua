-- typed.lua: what an input at the prompt means that does not load: layouts as they are printed,
-- inside Lua; minus signs and quotes of word processors; `help name`. Only what cannot mean
-- anything else is replaced. prompt_input.lua asks for it. And what to say where an input
-- is nil.
local language = require "cuttle"
local lists = require "cuttle.lists"
local near = require "cuttle.near"
local renamed = require "cuttle.renamed"

local M = {}

-- {====== Text and what is in it ======

-- Where the text or comment that begins at `at` ends, or nil: there is none.
local function end_of_literal(text, at)
  local quote = text:match("^['\"]", at)
  if quote then
    local stop = at + 1
    while stop < #text and text:sub(stop, stop) ~= quote do
      stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
    end
    return math.min(stop, #text)
  end
  local level = text:match("^%-?%-?%[(=*)%[", at)
  if level then return select(2, text:find("]" .. level .. "]", at, true)) or #text end
  return text:find("^%-%-", at) and select(2, text:find("[^\n]*", at)) or nil
end

-- The text with `change` applied to what is code: change(code, before) with all that came before.
local function in_code(text, change)
  local out, from, at = "", 1, 1
  while at <= #text do
    local stop = end_of_literal(text, at)
    if stop then
      out = out .. change(text:sub(from, at - 1), out) .. text:sub(at, stop)
      from, at = stop + 1, stop + 1
    else
      at = at + 1
    end
  end
  return out .. change(text:sub(from), out)
end

-- {====== Characters ======

local characters = {
  ["\u{2212}"] = "-", ["\u{201C}"] = '"', ["\u{201D}"] = '"', ["\u{201E}"] = '"',
  ["\u{2018}"] = "'", ["\u{2019}"] = "'", ["\u{00A0}"] = " ",
}

local function plain_characters(text)
  return (text:gsub("[\u{80}-\u{10FFFF}]+", function(run)
    return (run:gsub(utf8.charpattern, characters))
  end))
end

-- {====== Layouts ======

-- Where the shape or stride that begins at `at` ends, or nil.
local function end_of_side(code, at)
  local stop = select(2, code:find("^%b()", at))
  if not stop then return select(2, code:find("^%-?%d[%d@]*", at)) end
  local side = code:sub(at, stop)
  return side:find "%d" and not side:find "[^%w_@=,%-%s()]" and stop or nil
end

-- Where the layout that begins at `at` ends, or nil.
local function end_of_layout(code, at)
  local start = select(2, code:find("^Sw?<[%d%s,%-]+>%s*o%s*%-?%d+%s*o%s*", at)) or at - 1
  local shape = end_of_side(code, start + 1)
  local colon = shape and select(2, code:find("^%s*:%s*", shape + 1))
  local stride = colon and end_of_side(code, colon + 1)
  return stride and not code:find("^[%w_.]", stride + 1) and stride or nil
end

local operators = {}
for word in ("return and or not in then do else local if while until"):gmatch "%a+" do
  operators[word] = true
end

-- The bracket that is open after this code, or nil. Brackets in texts count, too: at
-- worst a number stays as it is.
local function open_bracket(before)
  local open = {}
  for bracket in before:gmatch "[%[%](){}]" do
    if bracket:find "[%[({]" then open[#open + 1] = bracket else open[#open] = nil end
  end
  return open[#open]
end

-- May a layout begin after this code? Not after a value, which would be called. `4:1` could also be
-- a slice or an entry of Python's, in brackets or braces.
local function may_begin(before, is_number)
  local bracket = is_number and open_bracket(before)
  if bracket == "[" or bracket == "{" then return false end
  if is_number and not bracket and before:find ",%s*$" then return false end -- 4,8:1,4
  local word = before:match "([%a_][%w_]*)%s*$"
  if word then return operators[word] == true end
  return not before:find "[%w_%)%]}'\"%[.]%s*$"
end

local function quoted_layouts(code, before)
  local out, at = "", 1
  while at <= #code do
    local begins = code:match("^[%d(S%-]", at)
    local stop = begins and may_begin(before .. out, begins:find "[%d-]" ~= nil)
      and end_of_layout(code, at)
    out = out .. (stop and ('L"%s"'):format(code:sub(at, stop)) or code:sub(at, at))
    at = (stop or at) + 1
  end
  return out
end

--- The text that was meant; nil if it is this one.
function M.meaning(text)
  local name = text:match "^%s*help%s+([%a_][%w_.:]*)%s*$"
  if name then return ('help"%s"'):format(name) end
  local meant = in_code(in_code(text, plain_characters), quoted_layouts)
  return meant ~= text and meant or nil
end

-- {====== Inputs that are nil ======

local function fields_of(value)
  local meta = debug.getmetatable(value)
  local is_known = lists.with(meta and meta.__methods or {})
  for _, name in ipairs(meta and meta.__fields or {}) do is_known[name] = true end
  return lists.keys(is_known)
end

--- What to write in place of a field that an object of ours does not have. `name`: of a variable
--- that has the object, for help; nil: help tells of its type.
function M.field_hint(object, field, name)
  local habits = require "cuttle.habits"
  local hint = renamed.of_method(field) or habits.methods[field] or habits.names[field]
  if hint then return hint end
  local nearest = near.nearest(field, fields_of(object))
  if nearest then return "did you mean " .. nearest .. "?" end
  local guess = require("cuttle.name_guess").guess_method(field)
  if guess ~= "" then return (guess:gsub("^; ", "")) end
  local class = require("cuttle.help").class_of(object)
  if not name and not class then return "it has " .. table.concat(fields_of(object), ", ") end
  local page = name and ("(%s)"):format(name) or ('"%s"'):format(class)
  return ("help%s lists what it has"):format(page)
end

local function of_field(object, name, field)
  local meta = type(object) == "userdata" and getmetatable(object)
  if type(meta) ~= "table" or type(meta.__name) ~= "string" then return nil end
  return ("a %s has no field '%s'; %s"):format(meta.__name, field,
    M.field_hint(object, field, name))
end

--- What to say of an input whose only value is nil, or nothing: `True`, `A.stides`. `value_of`: the
--- value of a variable by its name.
function M.nil_note(text, value_of)
  local name, field = text:match "^%s*([%a_][%w_]*)%.([%a_][%w_]*)%s*$"
  if name then return of_field(value_of(name), name, field) end
  local list = text:match "^%s*([%a_][%w_.]*)%s*%[%s*0%s*%]%s*$"
  if list then return ("tables count from 1: the first is %s[1]"):format(list) end
  name = text:match "^%s*([%a_][%w_]*)%s*$"
  if not name or name == "nil" or name == "ans" then return nil end
  local hint = require("cuttle.guess").habit(name)
  local is_new = not hint and language[name] == nil
  local guess = is_new and require("cuttle.name_guess").guess(name) or ""
  return ("'%s' has no value%s"):format(name, hint and "; " .. hint or guess)
end

return M
