-- guess.lua: what to add to a message of Lua's when habit or a slip of the pen is its likely cause:
-- "attempt to call a nil value (global 'compostion'); did you mean 'composition'?". The names are
-- those that `help` knows and those of habits.lua and renamed.lua. interp/state/diag_guess.c asks
-- for it.
local language = require "cuttle"
local habits = require "cuttle.habits"
local guesses = require "cuttle.name_guess"
local lists = require "cuttle.lists"
local nearness = require "cuttle.near"
local renamed = require "cuttle.renamed"
local reserved = require "cuttle.reserved_words"

local M = {}

-- {====== A line of the script ======

-- Line `number` of the text, or "".
local function line_of(text, number)
  local at = 1
  for _ = 2, number do
    at = (text:find("\n", at, true) or #text) + 1
  end
  return text:match("^[^\r\n]*", at)
end

-- The line without comments and without what its texts say.
local function without_texts(line)
  return (line:gsub("(['\"])(.-)%1", "%1%1"):gsub("%-%-.*$", ""))
end

-- Is the name declared, or assigned, anywhere in the text?
local function is_declared(text, name)
  local word = "%f[%w_]" .. name .. "%f[^%w_]"
  return text:find("local%s[^=\n]*" .. word) or text:find("function[^(\n]*%([^)]*" .. word)
    or text:find("for%s[^=\n]*" .. word) or text:find(word .. "%s*=[^=]")
    or text:find(word .. "%s*,[^=()\n]*=[^=]")
end

-- The one name in the line that is nil and that nothing declares; nil when there is none, or more.
local function undeclared(text, line)
  local found
  line = without_texts(line)
  for before, name, after in line:gmatch "()([%a_][%w_]*)()" do
    local is_field = line:find("^[.:]", before - 1) and not line:find("^%.%.", before - 2)
    local is_number = line:find("^%w", before - 1)
    local is_key = line:find("^%s*=[^=]", after)
    local is_nil = not reserved[name] and rawget(_G, name) == nil
    if is_nil and not is_field and not is_number and not is_key and not is_declared(text, name) then
      if found and found ~= name then return nil end
      found = name
    end
  end
  return found
end

-- {====== Names ======

local function fill(hint, ...)
  if type(hint) == "function" then return hint(...) end
  return hint:format(...)
end

-- What the tables of habits and of old names say of a name; or nil.
local function habit_of(name)
  local hint = renamed.of_name(name) or habits.names[name] or habits.spaces.tl[name]
  if hint then return hint end
  for _, row in ipairs(habits.patterns) do
    local captures = table.pack(name:match(row[1]))
    hint = captures[1] and fill(row[2], table.unpack(captures, 1, captures.n))
    if hint then return hint end
  end
end

-- For a name that is nil: what to add to the message, or "".
local function of_name(name)
  local hint = language[name] == nil and habit_of(name)
  return hint and "; " .. hint or guesses.guess(name)
end

-- Of `space.name`, such as tl.load, where the space is none of ours.
local function of_field(space, name)
  local hint = habits.spaces[space][name]
  if not hint and language[name] ~= nil and name:sub(1, 1) ~= "_" and space ~= "math" then
    hint = ("%s is a name of its own: write %s, not %s.%s"):format(name, name, space, name)
  end
  hint = hint or habit_of(name)
  return hint and "; " .. hint or guesses.guess_theirs(name)
end

--- What to write for a name of another language, such as erf or tl.load; or nil.
function M.habit(name)
  local space, field = name:match "^([%a_][%w_]*)%.([%w_]+)$"
  if not space then return habit_of(name) end
  local hint = habits.spaces[space] and of_field(space, field)
  return hint and hint ~= "" and hint:sub(3) or nil
end

-- The field of `space` that the line asks for, and whose it is: of numba.cuda.grid that of cuda.
local function field_after(line, space)
  local name, rest = line:match("%f[%w_]" .. space .. "%s*%.%s*([%a_][%w_]*)(.*)")
  local inner = name and habits.spaces[name] and rest:match "^%s*%.%s*([%a_][%w_]*)"
  return inner or name, inner and name or space
end

-- {====== Messages ======

local function of_space(_, space, line)
  if not habits.spaces[space] then return nil end
  local field, owner = field_after(line, space)
  return field and of_field(owner, field) or nil
end

-- Of `rows.any`, where the script says `rows = require "cuttle.rows"`; and the same of "cuttle".
local function of_module(text, name, line)
  local variable = line:match("([%a_][%w_]*)%s*%.%s*" .. name .. "%f[^%w_]")
  local module = variable
    and text:match("%f[%w_]" .. variable .. "%s*=%s*require%s*%(?%s*[\"'](cuttle[%w_.]*)[\"']")
  local hint = module == "cuttle" and renamed.of_name(name)
  if hint then return "; " .. hint end
  local known = package.loaded[module]
  local nearest = type(known) == "table"
    and nearness.nearest(name, lists.keys(known))
  return nearest and ("; did you mean %s?"):format(nearest) or nil
end

local function of_template(_, _, line)
  local name, value, opens = line:match("([%a_][%w_]*)%s*<%s*([%w_]+)%s*>%s*([{(])")
  if not name then return nil end
  if name:find "_cast$" then return "; a cast is a call: write cast(x, f32), f32(x)" end
  if opens == "(" then
    local x = line:match("[%a_][%w_]*%s*<%s*[%w_]+%s*>%s*%(([%w_.]+)%)") or "..."
    return ("; Lua has no templates: write %s(%s, %s)"):format(name, x, value)
  end
  return ("; Lua has no templates, and numbers are static: write %s"):format(value)
end

local function of_operand(text, _, line)
  local name = undeclared(text, line)
  local hint = name and of_name(name) or ""
  return name and ("; '%s' is nil%s"):format(name, hint ~= "" and hint:gsub("^;", ":") or "") or nil
end

-- A method that the row of a row_kernel has not.
local function of_row_method(text, name, line)
  local object = line:match("([%a_][%w_]*)%s*:%s*" .. name .. "%f[^%w_]")
  local row = "row_kernel[^\n]*\n?[^\n]*function%s*%(%s*([%a_][%w_]*)"
  local is_row = false
  for parameter in text:gmatch(row) do is_row = is_row or parameter == object end
  if not is_row then return nil end
  local nearest = nearness.nearest(name, require "cuttle.row_methods".names)
  return nearest and ("; did you mean %s?"):format(nearest)
    or "; a row has no such method; help(row_kernel) lists those that it has"
end

local function of_method(name, line)
  local hint = renamed.of_method(name) or habits.methods[name] or habit_of(name)
  hint = hint and "; " .. hint or guesses.guess_method(name)
  local object = hint == "" and line:match("([%a_][%w_]*)%s*:%s*" .. name .. "%f[^%w_]")
  return object and ("; no type has this method; help(%s) lists those of %s"):format(object, object)
    or hint
end

-- {====== The slice `_` behind a variable of this name ======

-- Messages of what gets a number in place of a slice.
local number_for_slice = { "is a number; a tensor", "is a number; a layout",
                           "attempt to index a number value", "attempt to index a value of" }

-- Does a `_` that stands among arguments come after a declaration of a variable `_`?
local function hides_slice(text, n_lines)
  local declared = false
  for i = 1, n_lines do
    local line = without_texts(line_of(text, i))
    local parameters = line:match "function[^(]*(%b())" or ""
    declared = declared or line:find "%f[%w_]for%s+[^=]*%f[%w_]_%f[^%w_][^=]*%sin%s"
      or line:find "%f[%w_]local%s+[^=]*%f[%w_]_%f[^%w_]" or parameters:find "%f[%w_]_%f[^%w_]"
    if declared and line:gsub("function[^(]*%b()", ""):find "[(,{]%s*_%s*[,)}]" then return true end
  end
  return false
end

local function of_hidden_slice(message, text, number)
  for _, pattern in ipairs(number_for_slice) do
    if message:find(pattern) and hides_slice(text, number) then
      return "; '_' is a variable here and hides the slice _: rename it, as in for i, x in"
    end
  end
end

-- A pattern of Lua's message, and a function of the chunk's text, the pattern's capture and the
-- line; nil: another row may know.
-- x[1][2]
local function of_brackets(_, _, line)
  return line:find "%]%s*%[" and "; coordinates are one table: write t[{i, j}]" or nil
end

-- x(1, 2)[3], where x is a tensor or, as in size(x)[0], a function of the language.
local function of_call(line)
  local x, crd = line:match "([%a_][%w_.]*)%s*%(([^()]*)%)%s*%["
  if not x then return nil end
  if crd:find "%f[%w_]_%f[^%w_]" then return "" end
  local is_function = type(language[x]) == "function"
  if is_function then return ("; %s(%s) is a number"):format(x, crd) end
  return ("; %s(%s) is the element itself: write %s[{%s}]"):format(x, crd, x, crd)
end

local rows = {
  { "index a nil value %(global '([^']+)'%)", of_space },
  { "get length of a nil value", function(_, _, line)
    return line:find "^%s*#%s+%a" and "; a comment begins with --" or nil
  end },
  { "index a function value %(global '(cuda)'%)", of_space },
  { " a nil value %(global '([^']+)'%)", function(_, name) return of_name(name) end },
  { " a nil value %(field '([^']+)'%)", of_module },
  { " a nil value %(method '([^']+)'%)", function(text, name, line)
    return of_row_method(text, name, line) or of_method(name, line)
  end },
  { "call an? (%a+) value %(method '[^']+'%)$", function(_, kind, line)
    local name = line:match ":%s*([%a_][%w_]*)%s*%("
    return kind ~= "nil" and name and ("; it is a field: write .%s"):format(name) or nil
  end },
  { " on a tensor value", function()
    return "; elements are computed one by one: x[i] in a kernel, transform(x, y, f) on the host"
  end },
  { "arithmetic on a layout value", function()
    return "; indices are numbers, as in A(i) + 1; layouts have functions, as in composition(A, B)"
  end },
  { "argument %d+ is a tensor; a number was expected", function()
    return "; elements are computed one by one: transform(x, y, f)"
  end },
  { "attempt to compare .*tensor", function()
    return "; elements are compared one by one: x[i] < y[i]"
  end },
  { "attempt to index a .* value %(field 'shape'%)", function(_, _, line)
    local x = line:match "([%a_][%w_]*)%.shape%s*%["
    return x and ("; an extent is size(%s, 0)"):format(x) or nil
  end },
  { " on a function value %(field '([^']+)'%)", function(_, name)
    return ("; %s is a function: write %s(x)"):format(name, name)
  end },
  { "'for' limit must be a number", function(_, _, line)
    local x, name = line:match "([%a_][%w_]*)%.([%a_][%w_]*)"
    return x and type(language[name]) == "function" and ("; write %s(%s)"):format(name, x) or nil
  end },
  { "call a number value %(for iterator", function()
    return "; numbers are counted by for i = 0, n - 1 do"
  end },
  { "attempt to add a 'string' with", function() return "; Lua joins texts by .." end },
  { "coordinate: argument %d is nil", function(_, _, line)
    return line:find "%f[%w_]for%s.*%sin%s"
      and "; no tensor is an iterator: write for i = 0, size(t) - 1 do" or nil
  end },
  { " a nil value %(field '([^']+)'%)", function(_, name, line)
    local space = line:match("%f[%w_]([%a_][%w_]*)%s*%.%s*" .. name .. "%f[^%w_]")
    if habits.spaces[space] then return of_field(space, name) end
    local hint = habits.methods[name] or habits.names[name] -- x.sum()
    return hint and "; " .. hint or ""
  end },
  { " an? index value %(%a+ '([^']+)'%)$", function(_, name)
    return "; write " .. name .. ".x"
  end },
  { "attempt to compare %a+ with %a+$", of_template },
  { "attempt to compare two nil values$", of_template },
  { "attempt to compare .*nil", of_operand },
  { "got nil$", of_operand },
  { "is nil, perhaps a misspelt name;", of_operand },
  { "is missing or nil;", of_operand },
  { "^t%[nil%]: the coordinate has no value", of_operand },
  { "attempt to index a [nr][a-z-]+ value %(field 'integer index'%)", of_brackets },
  { "attempt to index a [nr][a-z-]+ value", function(_, _, line)
    return of_call(line) or of_brackets(_, _, line)
  end },
}

--- What to add to an uncaught message, or "". `text_of(chunk)`: the text of a chunk as messages
--- call it, or nil.
function M.of(message, text_of)
  local chunk, number, what = message:match "^([^\n]-):(%d+): (.*)$"
  local text = chunk and text_of(chunk) or ""
  if message:find " near '.*'$" or message:find " near <eof>$" then -- of dofile, require
    return M.of_syntax(message, text, true)
  end
  local line = chunk and line_of(text, tonumber(number)) or ""
  local hidden = chunk and of_hidden_slice(what, text, tonumber(number))
  if hidden then return hidden end
  for _, row in ipairs(rows) do
    local capture = (what or message):match(row[1])
    local hint = capture and row[2](text, capture, line)
    if hint then return hint end
  end
  return ""
end

-- {====== Text that does not parse ======

local ELSE_IF <const> = "perhaps 'else if' lacks an 'end': Lua writes elseif"

-- "malformed number near '0.5f'"
local function has_suffix(message)
  return message:find "malformed number near '0x[%x.]*[uUlL]+'$" or
    message:find "malformed number near '[%d.eE+-]*[fFuUlL]+'$"
end

-- The word before the text that Lua stopped at.
local function before_near(line, near)
  local at = near:find "^[%w_]+$" and line:find("%f[%w_]" .. near .. "%f[^%w_]")
  return at and line:sub(1, at - 1):match "([%a_][%w_]*)[%s*&]+$"
end

local function of_word(line, near)
  local word = before_near(line, near)
  local hint = word and habits.words_before[word]
  if word and not hint and type(rawget(_G, word)) == "function" then
    return ("a call has (): write %s(%s)"):format(word, near)
  end
  local is_type = habits.words_before[near] ~= nil -- const int
  return hint and hint:gsub("{near}", is_type and "x" or near)
end

local function ends_with(message, text)
  return text == "" or message:sub(-#text) == text
end

-- Of a row of habits.syntax: does it fit, and what does it say?
local function of_row(row, message, line, earlier)
  if not ends_with(message, row[1])
     and not (row[1]:find "near$" and message:find(row[1], 1, true)) then
    return nil
  end
  for _, text in ipairs { line, row[4] and earlier or nil } do
    local captures = table.pack(text:match(row[2]))
    local hint = captures[1] and fill(row[3], table.unpack(captures, 1, captures.n))
    if hint then return hint end
  end
end

-- Lua says "syntax error" of nothing but a statement that is no call and no assignment, and
-- "unexpected symbol" of one that begins with a constant or an operator.
local function of_value(message, line, near)
  local is_first = line:find(near, 1, true) == line:find "%S" and near ~= ""
  local is_value = is_first and (near:find "^[%d{\"'#-]" or near:find "^not$" or near:find "^true$"
    or near:find "^false$" or near:find "^nil$")
  return (message:find(": syntax error near ", 1, true)
    or is_value and message:find(": unexpected symbol near ", 1, true)) and habits.alone or nil
end

--- The same of a text that does not parse; is_whole: nothing can follow it.
function M.of_syntax(message, text, is_whole)
  local number, near = message:match ":(%d+): ", message:match " near '(.*)'$"
  local has_else_if = without_texts(text):find "%f[%w_]else%s+if%f[^%w_]"
  if not near then
    local hint = is_whole and (of_value(message, "", "")
      or has_else_if and message:find("'end' expected", 1, true) and ELSE_IF)
    return hint and "; " .. hint or ""
  end
  number = tonumber(number) or 1
  local line, earlier = line_of(text, number), number > 1 and line_of(text, number - 1) or nil
  if has_suffix(message) then return "; numbers have no suffix: 0.5, or f32(0.5)" end
  local hint = of_word(line, near)
  for _, row in ipairs(habits.syntax) do
    hint = hint or of_row(row, message, line, earlier)
  end
  if has_else_if then hint = hint or ELSE_IF end
  local is_input = message:find "^input %d+:" -- of the prompt, which prints a value alone
  hint = hint or not (is_input and near ~= ";") and of_value(message, line, near) or nil
  return hint and "; " .. hint or ""
end

return M
