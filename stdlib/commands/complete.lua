-- complete.lua: what may stand at the cursor of a line at the prompt
-- (interp/shell/repl_complete.c). The line before the cursor says what is asked for: a field or
-- method of a value that a chain of names gives (`ms.tile.`, `A:`), a mode of a layout
-- (`size(A, "`), an atom (`atom("`), a file (`load_npy("`), a name of the language (`help(`), else
-- any name. Values are found and read by raw accesses only, so no script runs. A type that answers
-- __index by a function says what it knows in two fields of its metatable: __methods, a table by
-- name, and __fields, a list of names.
local language = require "cuttle"
local reserved = require "cuttle.reserved_words"

local M = {}

local MAX_STEPS <const> = 16 -- along __index

-- {====== The line, read backwards ======

local function trim(s) return s:match "^%s*(.-)%s*$" end

-- Names and dots at the end: "ms.tile".
local function last_chain(s) return s:match "[%w_.]*$" end

-- Where the quote is that opens the string in which the line ends; nil: it ends in code, or,
-- with true, in a comment.
local function open_quote(line)
  local quote
  local at = 1
  while at <= #line do
    local c = line:sub(at, at)
    if quote then
      if c == line:sub(quote, quote) then quote = nil end
      at = at + (c == "\\" and 1 or 0)
    elseif c == '"' or c == "'" then
      quote = at
    elseif line:sub(at, at + 1) == "--" then
      return nil, true
    end
    at = at + 1
  end
  return quote
end

-- The text up to the bracket that is open at its end; "" where none is.
local function up_to_open(s)
  local depth = 0
  for at = #s, 1, -1 do
    if s:find("^[)%]}]", at) then
      depth = depth + 1
    elseif s:find("^[(%[{]", at) then
      if depth == 0 then return s:sub(1, at) end
      depth = depth - 1
    end
  end
  return ""
end

-- The function whose first argument `code` ends in front of: of `help` and of `help(` it is help.
local function called(code) return last_chain(trim((trim(code):gsub("%($", "")))) end

-- The text in front of the argument in which s ends: of `x = L"(4,8)"` and of `x = L("(4,8)")` it
-- is `x = L`.
local function before_argument(s)
  local close = s:match "[)\"']$"
  if not close then return "" end
  local inner = s:sub(1, -2)
  inner = close == ")" and up_to_open(inner) or inner:match("^.*" .. close) or ""
  return trim(inner:sub(1, -2))
end

-- {====== Values ======

-- The value of a field, by tables only. `host` is what the prompt gives, as below.
local function field(host, value, name)
  for _ = 1, MAX_STEPS do
    if type(value) ~= "table" then return nil end
    local found = rawget(value, name)
    if found ~= nil then return found end
    local meta = host.metatable(value)
    value = meta and rawget(meta, "__index")
  end
end

-- The value of "ms.tile", or nil. A local of the session hides a global.
local function value_of(host, chain)
  local first, rest = chain:match "^([^.]*)(.*)$"
  local is_local, value = host.input("value", first)
  if not is_local then value = field(host, _G, first) end
  for name in rest:gmatch "%.([^.]*)" do value = field(host, value, name) end
  return value
end

-- {====== Candidates ======

local Search = {}
Search.__index = Search

function Search:add(name)
  local is_hidden = self.word == "" and name:find "^_"
  if not is_hidden and name:sub(1, #self.word) == self.word and name:find "^[%a_][%w_]*$" then
    self.found[name] = true
  end
end

function Search:add_keys(t, functions_only)
  for name, value in next, t do
    if type(name) == "string" and (not functions_only or type(value) == "function") then
      self:add(name)
    end
  end
end

function Search:add_list(list)
  for i = 1, rawlen(list) do
    if type(rawget(list, i)) == "string" then self:add(rawget(list, i)) end
  end
end

-- What a metatable says of its values.
function Search:add_described(meta, methods)
  local known = rawget(meta, methods and "__methods" or "__fields")
  if type(known) ~= "table" then return end
  if methods then self:add_keys(known, true) else self:add_list(known) end
end

function Search:add_members(value, methods)
  for _ = 1, MAX_STEPS do
    if type(value) == "table" then self:add_keys(value, methods) end
    local meta = self.host.metatable(value)
    if not meta then return end
    self:add_described(meta, methods)
    value = rawget(meta, "__index")
    if type(value) ~= "table" then return end
  end
end

function Search:add_names()
  self:add_keys(reserved)
  self:add_keys(self.host.input "names")
  self:add_members(_G)
end

-- The modes of a value that is a layout.
function Search:add_modes(value)
  local meta = self.host.metatable(value)
  if meta and meta == self.host.metatable(layout(1)) then
    self:add_list(rawget(meta, "__methods").names(value))
  end
end

-- In a text argument: `size(A, "`, `A:size("`, `A:size "`. `code`: what stands before the quote.
function Search:add_argument_modes(code)
  local head = up_to_open(code)
  local object = trim(head == "" and code or head:sub(1, -2)):match "^(.*):[%w_]*$"
  if object then self:add_modes(value_of(self.host, last_chain(object))) end
  local arguments = head == "" and "" or code:sub(#head + 1)
  for argument in arguments:gmatch "[^,]+" do
    local chain = trim(argument)
    if last_chain(chain) == chain then self:add_modes(value_of(self.host, chain)) end
  end
end

-- {====== What is asked for ======

local readers <const> = { load_npy = true, dofile = true, loadfile = true }
local makers <const> = {
  L = true, layout = true, row_major = true, col_major = true, ordered = true,
}

-- In a string; `text`: what it has so far.
function Search:add_in_string(code, text)
  local name = called(code)
  if name == "help" then
    self:add_keys(language)
  elseif name == "atom" or name == "tiled_mma" then -- up to the types: `UniversalCopy<u32>`
    for _, atom in ipairs(self.host.atoms()) do self:add(atom:match "^[^<]*") end
  elseif readers[name] then -- the word with what it lacks: for the prompt, "." and "/" end words
    for _, rest in ipairs(self.host.files(text)) do self.found[self.word .. rest] = true end
  else
    self:add_argument_modes(code)
  end
end

-- After `x.` or `x:`, with the value as it stands in the line.
function Search:add_members_of(value, methods)
  local chain = last_chain(value)
  if chain ~= "" then
    self:add_members(value_of(self.host, chain), methods)
  elseif makers[last_chain(before_argument(trim(value)))] then
    self:add_described(self.host.metatable(layout(1)), methods)
  end
end

function Search:add_in_code(code)
  local mark, rest = code:match "[.:]$", code:sub(1, -2)
  if mark == ":" or (mark == "." and not rest:find "%.$") then
    self:add_members_of(rest, mark == ":")
  elseif called(code) == "help" and trim(code):find "%($" then
    self:add_keys(language)
  else
    self:add_names()
  end
end

local function common_beginning(first, last)
  local n = 0
  while n < #first and first:byte(n + 1) == last:byte(n + 1) do n = n + 1 end
  return first:sub(1, n)
end

-- The common beginning of the candidates, and then each, sorted; nothing where there is none.
-- host: `metatable(x)` of any value; `locals`, the session's, by name, and `local_value(name)` ->
-- is there one, and its value; `atoms()`, names; `files(path)`, what the path lacks of each.
function M.candidates(line, host)
  local quote, is_comment = open_quote(line)
  local search = setmetatable({ host = host, word = line:match "[%w_]*$", found = {} }, Search)
  if quote then
    search:add_in_string(line:sub(1, quote - 1), line:sub(quote + 1))
  elseif not is_comment then
    search:add_in_code(line:sub(1, #line - #search.word))
  end
  local list = {}
  for name in next, search.found do list[#list + 1] = name end
  table.sort(list)
  if list[1] then table.insert(list, 1, common_beginning(list[1], list[#list])) end
  return list
end

return M
