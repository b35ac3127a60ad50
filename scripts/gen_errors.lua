-- gen_errors.lua: gives each error message of the sources an id that stays.
--   lua scripts/gen_errors.lua            adds what is missing to docs/errors.md, the table
--   lua scripts/gen_errors.lua --check    prints what is not in it; the exit code is 1 if any is
-- A message is a format of a call whose name says that it fails: ct_fail(..., "format"),
-- diag_error, fail, refuse and the like, in C and in Lua; or a sentence with a remedy that a table
-- or a helper has, of which "..." stands before the format. A new format gets the next number.
-- A format that is gone keeps its row, because its id is never given again: whoever rewords a
-- message changes its row by hand, so that the id stays.
local TABLE <const> = "docs/errors.md"
local FOLDERS <const> = "runtime interp stdlib"

-- {====== Tokens ======

local escapes <const> = { n = "\n", t = "\t", ['"'] = '"', ["'"] = "'", ["\\"] = "\\" }

local function unescaped(text)
  return (text:gsub("\\(.)", function(c) return escapes[c] or "\\" .. c end))
end

-- The place after the comment or string at `at`, and a string's text; nil: there is none.
local function skip_text(text, at, is_c)
  local c, two = text:sub(at, at), text:sub(at, at + 1)
  if is_c and two == "/*" then return select(2, text:find("*/", at, true)) + 1 end
  if two == (is_c and "//" or "--") then
    local long = not is_c and text:match("^%-%-%[(=*)%[", at)
    if long then return select(2, text:find("]" .. long .. "]", at, true)) + 1 end
    return text:find("\n", at, true) or #text + 1
  end
  local level = not is_c and text:match("^%[(=*)%[", at)
  if level then return select(2, text:find("]" .. level .. "]", at, true)) + 1 end
  if c == '"' or c == "'" then
    local stop = at + 1
    while stop <= #text and text:sub(stop, stop) ~= c do
      stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
    end
    local is_text = c == '"' or not is_c
    return stop + 1, is_text and unescaped(text:sub(at + 1, stop - 1)) or nil
  end
end

-- {kind = "name"|"text"|"mark", value} of a file.
local function tokens_of(text, is_c)
  local list, at = {}, 1
  while at <= #text do
    local after, value = skip_text(text, at, is_c)
    if after then
      if value then list[#list + 1] = { "text", value } end
      at = after
    else
      local name, stop = text:match("^([%a_][%w_]*)()", at)
      if name then
        list[#list + 1], at = { "name", name }, stop
      else
        local mark = not is_c and text:match("^%.%.%.?", at) or text:sub(at, at)
        if mark:find "%S" then list[#list + 1] = { "mark", mark } end
        at = at + #mark
      end
    end
  end
  return list
end

-- {====== Formats ======

local raisers <const> = { "fail", "refuse", "error", "wrong", "raise", "blame", "check_mode",
  "check_rest" }
local tellers <const> = { lua_pushfstring = true, note_add = true } -- also of parts of messages

local function is_raiser(name)
  for _, part in ipairs(raisers) do
    if name:lower():find(part, 1, true) then return true end
  end
end

local function has_words(format)
  local _, n = format:gsub("%%[-+ #0-9.l]*%a", " "):gsub("%a%a+", "")
  return n >= 2
end

-- Literals that follow each other are one: in Lua with .. between them, in C also with PRId64.
local function joined(list, at, is_c)
  local parts = {}
  while list[at] do
    local kind, value = list[at][1], list[at][2]
    if kind == "text" then
      parts[#parts + 1] = value
    elseif is_c and kind == "name" and value:find "^PRI" then
      parts[#parts + 1] = value:match "PRI(%l)"
    elseif is_c or value ~= ".." or not list[at + 1] or list[at + 1][1] ~= "text" then
      break
    end
    at = at + 1
  end
  return table.concat(parts), at
end

-- Adds the formats of the call whose bracket is at `at`.
local function add_call(list, at, is_c, add)
  local depth = 0
  while list[at] do
    local kind, value = list[at][1], list[at][2]
    if kind == "text" then
      local format
      format, at = joined(list, at, is_c)
      if has_words(format) then add(format) end
    else
      depth = depth + (value == "(" and 1 or value == ")" and -1 or 0)
      at = at + 1
      if depth == 0 then return end
    end
  end
end

-- Texts that stand outside such calls, in tables and helpers, and are messages or their ends: in
-- these folders those of at least so many words, if they have a remedy or a table of remedies has
-- them.
local told <const> = {
  { "^interp/front/front_refuse%.c$", words = 3, mark = "" },
  { "^interp/ops/bind_escape%.c$", words = 5, mark = ", but " },
  { "^interp/", words = 5, mark = "; " }, { "^runtime/ir/", words = 5, mark = "; " },
  { "^stdlib/language/", words = 5, mark = "; " }, { "^stdlib/mesh/", words = 5, mark = "; " },
  { "^stdlib/operators/", words = 5, mark = "; " }, { "^stdlib/tune/", words = 5, mark = "; " },
}

local MIN_SENTENCE <const> = 5 -- words
local PART <const> = "..." -- before a format of which messages may be only a part

local function n_words(format)
  local _, n = format:gsub("%%[-+ #0-9.l]*%a", " "):gsub("%a+", "")
  return n
end

-- Texts that explain a derivation or a plan, or are CUDA C.
local no_messages <const> = { ["derive.lua"] = true, ["row_kernel.lua"] = true }

local function is_told(row, format)
  return n_words(format) >= row.words and format:find("." .. row.mark) and format:find " "
    and not format:find "warning: " and not format:find "asm%("
end

local function add_told(row, list, is_c, add)
  local at = 1
  while list[at] do
    if list[at][1] == "text" then
      local format
      format, at = joined(list, at, is_c)
      if is_told(row, format) then add(PART .. format) end
    else
      at = at + 1
    end
  end
end

local function add_all_told(path, list, is_c, add)
  if no_messages[path:match "[^/]+$"] then return end
  for _, row in ipairs(told) do
    if path:find(row[1]) then add_told(row, list, is_c, add) end
  end
end

local function adding_sentences(add)
  return function(format)
    if n_words(format) >= MIN_SENTENCE then add(PART .. format) end
  end
end

local function add_file(path, add)
  local file <close> = assert(io.open(path, "rb"))
  local is_c = not path:find "%.lua$"
  local list = tokens_of(file:read "a", is_c)
  for i, token in ipairs(list) do
    local after = list[i + 1]
    local is_call = token[1] == "name" and after and after[1] == "mark" and after[2] == "("
    if is_call and is_raiser(token[2]) then
      add_call(list, i + 1, is_c, add)
    elseif is_call and tellers[token[2]] then
      add_call(list, i + 1, is_c, adding_sentences(add))
    end
  end
  add_all_told(path, list, is_c, add)
end

local function all_formats()
  local found, list = {}, {}
  local pipe <close> = assert(io.popen(("find %s -name '*.[ch]' -o -path 'stdlib/*' -name '*.lua' "
    .. "| LC_ALL=C sort"):format(FOLDERS)))
  for path in pipe:lines() do
    local is_command = path:find "^stdlib/commands/" and not path:find "/help[%w_]*%.lua$"
    if not path:find "^stdlib/meta/" and not is_command and not path:find "^interp/shell/" then
      add_file(path, function(format)
        format = format:gsub("\n", "\\n"):gsub("\t", " ")
        if not found[format] then list[#list + 1] = format end
        found[format] = true
      end)
    end
  end
  return list
end

-- {====== The table ======

-- Lua's own messages, which are in no source of ours.
local of_lua <const> = {
  "attempt to call a nil value (%s)", "attempt to call a %s value",
  "attempt to index a nil value (%s)", "attempt to index a %s value",
  "attempt to perform arithmetic on a %s value", "attempt to concatenate a %s value",
  "attempt to compare two %s values", "attempt to compare %s with %s",
  "attempt to get length of a %s value", "attempt to assign to const variable '%s'",
  "number has no integer representation", "bad argument #%d to '%s' (%s)",
  "unexpected symbol near %s", "'%s' expected near %s", "unfinished string near %s",
  "stack overflow", "not enough memory", "attempt to perform 'n//0'", "module '%s' not found:%s",
}

-- Rows are the lines of the page's block of text.
local function read_page()
  local rows, known, most = {}, {}, 0
  local file <close> = assert(io.open(TABLE, "rb"))
  local head, body, tail = file:read("a"):match "^(.-```text\n)(.-)(```.*)$"
  for number, format in body:gmatch "CE%-(%d+) ([^\n]+)" do
    rows[#rows + 1], known[format] = ("CE-%s %s"):format(number, format), true
    most = math.max(most, math.tointeger(tonumber(number)))
  end
  return { head = head, tail = tail, rows = rows }, known, most
end

local function missing_formats(known)
  local list, parts = {}, {}
  local function add(format)
    if not known[format] then list[#list + 1], known[format] = format, true end
  end
  for _, formats in ipairs { of_lua, all_formats() } do
    for _, format in ipairs(formats) do
      if format:sub(1, #PART) == PART then parts[#parts + 1] = format else add(format) end
    end
  end
  for _, format in ipairs(parts) do
    if not known[format:sub(#PART + 1)] then add(format) end
  end
  return list
end

local function main(option)
  local page, known, most = read_page()
  local missing = missing_formats(known)
  for i, format in ipairs(missing) do
    if option == "--check" then print(format) end
    page.rows[#page.rows + 1] = ("CE-%04d %s"):format(most + i, format)
  end
  if option == "--check" then os.exit(#missing == 0) end
  local file <close> = assert(io.open(TABLE, "wb"))
  file:write(page.head, table.concat(page.rows, "\n"), "\n", page.tail)
end

main(...)
