-- help.lua: help() and help(x), apropos(word). What they say is read from stdlib/meta/*.lua, the
-- annotations that editors read as well (annotations.lua).
local language = require "cuttle"
local internal = ...
local annotations = require "cuttle.annotations"
local foreign = require "cuttle.foreign"
local guesses = require "cuttle.name_guess"
local modules = require "cuttle.help_modules"

local M = {}

local DEFAULT_WIDTH <const>, MAX_WIDTH <const> = 96, 100
local NAME_WIDTH <const> = 21 -- of names in lists
local WORD_WIDTH <const> = 13 -- of topics, and of what stands at the left of an entry

local fail = require "cuttle.fail".of "help"
local lists = require "cuttle.lists"

-- {====== Lines ======

-- What is printed: its lines, their width, and bold text on a terminal that has it.
local Page = {}
Page.__index = Page

local function new_page()
  local terminal = terminal()
  return setmetatable({ color = terminal.color,
                        width = math.min(terminal.columns or DEFAULT_WIDTH, MAX_WIDTH) }, Page)
end

function Page:add(line)
  self[#self + 1] = (line:gsub("%s+$", ""))
end

function Page:bold(text)
  return self.color and "\27[1m" .. text .. "\27[0m" or text
end

-- Words one after the other; the first line begins with `head`, the others with as many blanks.
function Page:flow(head, words, separator)
  local line, indent, is_first = head, (" "):rep(#head), true
  for _, word in ipairs(words) do
    if not is_first and #line + #separator + #word > self.width then
      self:add(line)
      line, is_first = indent, true
    end
    line, is_first = line .. (is_first and "" or separator) .. word, false
  end
  self:add(line)
end

local function words_of(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  return words
end

function Page:paragraph(head, text)
  self:flow(head, words_of(text), " ")
end

-- "  name        text", the text broken into lines.
function Page:item(name, text)
  self:paragraph(("  %-" .. WORD_WIDTH .. "s "):format(name), text)
end

-- A name and its summary, on one line.
function Page:listed(entry, indent)
  local line = ("%s%-" .. NAME_WIDTH .. "s %s"):format(indent, entry.name, entry.summary)
  self:add(#line > self.width and line:sub(1, self.width - 3) .. "..." or line)
end

function Page:print()
  print(table.concat(self, "\n"))
end

-- {====== An entry ======

local function add_text(page, entry)
  local paragraph = {}
  for i, line in ipairs(entry.text) do
    paragraph[#paragraph + 1] = line
    if line == "" or i == #entry.text then
      page:paragraph("  ", table.concat(paragraph, " "))
      paragraph = {}
    end
  end
end

local function add_parts(page, entry)
  for _, field in ipairs(entry.fields) do
    page:item("." .. field.name:gsub("%?$", ""), field.type .. ": " .. field.text)
  end
  for _, param in ipairs(entry.params) do
    page:item(param.name:gsub("%?$", ""),
      param.type .. (param.text ~= "" and ": " .. param.text or ""))
  end
  for i, result in ipairs(entry.returns) do
    page:item(i == 1 and "returns" or "and",
      result.type .. (result.text ~= "" and ": " .. result.text or ""))
  end
end

local function add_methods(page, entry)
  if #entry.methods > 0 then
    table.sort(entry.methods)
    page:flow(("  %-" .. WORD_WIDTH .. "s "):format("methods"), entry.methods, "  ")
  end
end

local function is_empty(entry)
  return #entry.fields + #entry.params + #entry.returns + #entry.methods == 0
end

local function add_examples(page, entry)
  for i, line in ipairs(entry.examples) do
    if i == 1 then page:add("") end
    page:add("  " .. (line:find("^>") and page:bold(line) or line))
  end
end

local function print_entry(entry)
  local page = new_page()
  local blanks = math.max(page.width - #entry.signature - #entry.topic.word, 2)
  page:add(page:bold(entry.signature) .. (" "):rep(blanks) .. entry.topic.word)
  add_text(page, entry)
  if not is_empty(entry) then page:add("") end
  add_parts(page, entry)
  add_methods(page, entry)
  add_examples(page, entry)
  if #entry.footer > 0 then page:add("") end
  for _, line in ipairs(entry.footer) do
    page:paragraph("  ", line)
  end
  page:print()
end

-- {====== Topics ======

-- A word at the left, in bold, and names.
function Page:row(word, names)
  local first = #self + 1
  self:flow(("%-" .. WORD_WIDTH .. "s "):format(word), names, "  ")
  self[first] = self:bold(word) .. self[first]:sub(#word + 1)
end

local function print_topics()
  local page, types, of_modules = new_page(), {}, {}
  for _, topic in ipairs((annotations.load())) do
    local names = {}
    for _, entry in ipairs(topic.module and {} or topic.entries) do
      local is_type = language[entry.name] == nil and entry.name:find("^%u")
      if entry.class == nil then table.insert(is_type and types or names, entry.name) end
    end
    of_modules[#of_modules + 1] = topic.module
    if not topic.module then page:row(topic.word, names) end
  end
  page:row("types", types)
  page:row("modules", of_modules)
  page:add("")
  page:paragraph("", 'help(size) explains a name, help"algebra" lists a topic, help(x) tells ' ..
    'what a layout, tensor or kernel x can do; apropos"stride" finds names by what they are about.')
  page:print()
end

local function print_topic(topic)
  local page = new_page()
  page:add(page:bold(topic.word) .. ": " .. topic.title)
  for _, entry in ipairs(topic.entries) do
    page:listed(entry, "  ")
  end
  page:print()
end

-- {====== Finding ======

local lua_libraries = { "_G", "string", "table", "math", "io", "os", "coroutine", "utf8", "debug" }
local lua_names = {}
for _, library in ipairs(lua_libraries) do
  lua_names[library] = true
end
for name in ([[assert collectgarbage dofile error getmetatable ipairs load loadfile next pairs pcall
    print rawequal rawget rawlen rawset require setmetatable tonumber tostring type warn xpcall
    package]]):gmatch("%a+") do
  lua_names[name] = true
end

local function is_lua_name(name)
  local library, field = name:match("^(%w+)%.(%w+)$")
  if library then
    return lua_names[library] and type(_G[library]) == "table" and _G[library][field] ~= nil
  end
  return lua_names[name]
end

-- The name under which Lua's own libraries have a function.
local function lua_name_of(value)
  for _, library in ipairs(lua_libraries) do
    for name, other in pairs(type(_G[library]) == "table" and _G[library] or {}) do
      if rawequal(other, value) and (library ~= "_G" or lua_names[name]) then
        return library == "_G" and name or library .. "." .. name
      end
    end
  end
end

-- Has a value of the language the field, as threadIdx has x?
local function has_field(value, name)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return lists.any(meta and meta.__fields or {}, function(field) return field == name end)
end

-- The entry of a name as a user writes it: threadIdx.x, size, Layout.named, layout:named, L.named.
local function find(name)
  local _, by_name = annotations.load()
  name = name:gsub("^cuttle%.", "")
  local class, method = name:match("^(%w+)[.:]([%w_]+)$")
  if by_name[name] or not class then
    return by_name[name]
  end
  class = class == "L" and "Layout" or class
  if by_name[class] and has_field(language[class], method) then return by_name[class] end
  for other, entry in pairs(by_name) do
    if other:lower() == (class .. "." .. method):lower() then return entry end
  end
end

local function find_topic(word)
  word = word:gsub("^cuttle%.", "")
  for _, topic in ipairs((annotations.load())) do
    local file = topic.file:match("([%w_]+)%.lua$") -- TMA is the topic of boxes
    if topic.word == word:lower() or file == word:lower() then return topic end
  end
end

-- {====== Names of CuTe, PTX and MoYe ======

-- The entries of this name of types, or, with `kind` "%l", of modules and tables such as fast.
local function find_methods(name, kind)
  local found = {}
  for _, topic in ipairs((annotations.load())) do
    for _, entry in ipairs(topic.entries) do
      local own = entry.name:match("^" .. kind .. "[%w_]*[.:]([%w_]+)$")
      if own == name then found[#found + 1] = entry end
    end
  end
  return found
end

local function print_methods(found)
  if #found == 1 then return print_entry(found[1]) end
  local page = new_page()
  for _, entry in ipairs(found) do page:listed(entry, "") end
  page:print()
end

local function print_theirs(name, found)
  local page, names = new_page(), {}
  for i, entry in ipairs(found) do names[i] = entry.name end
  page:add(("%s is %s here"):format(name, table.concat(names, " or ")))
  if #found == 1 then page:add("") end
  for _, entry in ipairs(#found > 1 and found or {}) do page:listed(entry, "  ") end
  page:print()
  if #found == 1 then print_entry(found[1]) end
end

-- {====== Names of the tables in docs/from_*.md ======

-- The text of a cell without its marks: `shared(f32)` -> shared(f32), [pipeline](x.md) -> pipeline
local function plain(cell)
  return (cell:gsub("%[(.-)%]%b()", "%1"):gsub("`", ""))
end

local function foreign_line(row)
  local reason = row.here:match("^no: (.*)$")
  local note = row.note ~= "" and "; " .. plain(row.note) or ""
  if reason then return ("%s is not here: %s%s"):format(row.name, plain(reason), note) end
  if row.here == "not yet" then return row.name .. " is not here yet" .. note end
  return ("%s is %s here%s"):format(row.name, plain(row.here), note)
end

-- The entries of our names in a cell, each once.
local function entries_in(cell, found)
  for code in cell:gmatch("`(.-)`") do
    local entry = find(code:match("^[%a_][%w_]*") or "")
    if entry and not found[entry] then found[#found + 1], found[entry] = entry, true end
  end
end

-- False if no table has the name.
local function print_foreign(name)
  local rows, page, entries = foreign.find(require "cuttle.foreign_rows", name), new_page(), {}
  if #rows == 0 then return false end
  for _, row in ipairs(rows) do
    page:paragraph("", foreign_line(row))
    entries_in(row.here, entries)
  end
  if #entries > 0 then page:add("") end
  for _, entry in ipairs(#entries > 1 and entries or {}) do page:listed(entry, "  ") end
  page:print()
  if #entries == 1 then print_entry(entries[1]) end
  return true
end

-- {====== Modules that a program has required ======

-- "rows.softmax_backward" is explained with rows.softmax.
local function find_shorter(name)
  while name and not find(name) do name = name:match "^(.+)_[^_.]*$" end
  return name and name:find(".", 1, true) and find(name)
end

-- A name of a module: its entry; else a line, and the entry that the name begins with.
local function print_line_or_entry(line, name)
  local entry, shorter = find(name), find_shorter(name)
  if entry then return print_entry(entry) end
  print(line)
  if shorter then
    print()
    print_entry(shorter)
  end
end

-- False if no module has the name, or is called so.
local function print_of_modules(name)
  local line, names = modules.line_of_name(name), modules.names_of(name)
  if line then
    print_line_or_entry(line, (name:gsub("^cuttle%.", "")))
  elseif names then
    local page = new_page()
    page:flow(name .. "  ", names, "  ")
    page:print()
  elseif find_shorter(name) then
    print_entry(find_shorter(name))
  else
    return false
  end
  return true
end

-- {====== Options, which are explained with what has them ======

local MIN_OPTION <const> = 3 -- letters: shorter ones are arguments, such as `t`

local function text_of(entry)
  local texts = lists.map(entry.params, function(param) return param.text end)
  return table.concat(entry.text, " ") .. " " .. table.concat(texts, " ")
end

-- Does the text speak of such an option, as in `smem`, `pdl = true` or `{rtol =, atol =}`?
local function has_option(text, name)
  return text:find("`" .. name .. "%f[^%w_]") or text:find("[{,] ?" .. name .. " =")
end

-- False if no entry does.
local function print_options(name)
  local found = {}
  local is_word = #name >= MIN_OPTION and name:find "^[%a_][%w_]*$"
  for _, topic in ipairs(is_word and annotations.load() or {}) do
    table.move(lists.filter(topic.entries, function(entry)
      return has_option(text_of(entry), name)
    end), 1, #topic.entries, #found + 1, found)
  end
  if #found == 0 or require("cuttle.guess").habit(name) then return false end
  local page = new_page()
  page:add(("%s is explained with"):format(name))
  for _, entry in ipairs(found) do page:listed(entry, "  ") end
  page:print()
  if #found == 1 then
    print()
    print_entry(found[1])
  end
  return true
end

-- {====== help of a name ======

local function fail_name(name)
  local habit = require("cuttle.guess").habit(name)
  if habit then fail("there is no '%s'; %s", name, habit) end
  local guess = guesses.suggestion(name)
  fail("there is no '%s'%s", name, guess ~= "" and guess or
    ("; help() lists all names, apropos\"%s\" searches what they do"):format(name))
end

-- False if nothing inside a module or table is called so, or something else is meant by it.
local function print_inner(name)
  local found = find_methods(name, "%l")
  if #found == 0 or require("cuttle.guess").habit(name) then return false end
  print_methods(found)
  return true
end

local function help_name(name)
  local asked = name
  name = foreign.key(name)
  local entry, topic, theirs = find(name), find_topic(name), guesses.find_theirs(name)
  local methods = entry == nil and find_methods(name, "%u") or {}
  if entry then
    print_entry(entry)
  elseif topic then
    print_topic(topic)
  elseif #methods > 0 then
    print_methods(methods)
  elseif #theirs > 0 then
    print_theirs(name, theirs)
  elseif print_foreign(asked) then
    return
  elseif print_of_modules(asked) then
    return
  elseif is_lua_name(name) then
    print(("%s is Lua's own; its manual is www.lua.org/manual/5.4"):format(name))
  elseif not print_inner(name) and not print_options(name) then
    fail_name(name)
  end
end

-- {====== help of a value ======

-- Classes by the names of metatables that are no other writing of theirs, as "tuned function" is.
local classes = { ["launch configuration"] = "Launch", ["basis element"] = "Basis",
                  ["sharded tensor"] = "Sharded" }

local function name_of(value)
  local _, by_name = annotations.load()
  for name in pairs(by_name) do
    if rawequal(language[name], value) then return name end
  end
end

--- The class of an object of the language, whose name help knows; or nil.
function M.class_of(value)
  local meta = debug.getmetatable(value)
  local name = type(meta) == "table" and rawget(meta, "__name") or ""
  local lower, _, by_name = name:gsub("[ _]", ""):lower(), annotations.load()
  return classes[name] or lists.filter(lists.keys(by_name), function(class)
    return class:find "^%u" and class:lower() == lower
  end)[1]
end

local function help_value(value)
  local name, class = name_of(value), M.class_of(value)
  if name or class then
    help_name(name or class)
    return
  end
  local lua_name = lua_name_of(value)
  local line, in_module = nil, nil
  if lua_name == nil then line, in_module = modules.line_of_value(value) end
  if line then return print_line_or_entry(line, in_module) end
  if lua_name == nil then
    fail("a %s is not a name of the language; help() lists them", type(value))
  end
  help_name(lua_name)
end

-- help() lists the names by topic; help(x) explains a name, given as text or as the value itself,
-- or lists a topic.
function M.help(...)
  local x = ...
  if select("#", ...) == 0 then
    print_topics()
  elseif x == nil then
    fail("that is nil, perhaps a misspelt name; help\"name\" finds the nearest one")
  elseif type(x) == "string" then
    help_name(x)
  else
    help_value(x)
  end
end

-- {====== apropos ======

-- 1: in the name, 2: in the summary, 3: elsewhere.
local function rank_of(entry, needle)
  local function has(text) return text:lower():find(needle, 1, true) end
  if has(entry.name) then return 1 end
  if has(entry.summary) then return 2 end
  return (has(table.concat(entry.text, " ")) or has(table.concat(entry.footer, " "))) and 3 or nil
end

-- apropos(word): names whose name or text has the word in it, those with it in the name first.
function M.apropos(word)
  if type(word) ~= "string" then
    internal.host.fail(("apropos: a word was expected, got %s; write apropos\"stride\""):format(
      word == nil and "nothing" or "a " .. type(word)))
  end
  local found, page = { {}, {}, {} }, new_page()
  for _, topic in ipairs((annotations.load())) do
    for _, entry in ipairs(topic.entries) do
      local rank = rank_of(entry, word:lower())
      if rank then table.insert(found[rank], entry) end
    end
  end
  for _, list in ipairs(found) do
    for _, entry in ipairs(list) do page:listed(entry, "") end
  end
  if #page == 0 then
    page:add(("there is no help on '%s'; help() lists all names"):format(word))
  end
  page:print()
end

return M
