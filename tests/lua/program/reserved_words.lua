-- reserved_words.lua: the lists of Lua's reserved words, of the rewriter, of the prompt and of pages, are one set, and
-- plain Lua allows none of the words as a name.
local shell = dofile "tests/support/shell.lua"
local words = require "cuttle.reserved_words"

local function sorted(set)
  local list = {}
  for word in pairs(set) do list[#list + 1] = word end
  table.sort(list)
  return table.concat(list, " ")
end

local function set_of(text, pattern)
  local set = {}
  for word in text:gmatch(pattern) do set[word] = true end
  return set
end

local tokens = shell.read_file "interp/text/lua_tokens.def"
print(sorted(set_of(tokens, 'LX_WORD%(%u+,%s*"(%l+)"%)')) == sorted(words))
-- expect: true

local page = shell.read_file "stdlib/pictures/page_parts.js":match "const KEYWORDS = (.-);"
print(sorted(set_of(page, "%l+")) == sorted(words))
-- expect: true

for word in pairs(words) do
  if load(("local %s = 1"):format(word)) then print(word) end
end
print(load "local name = 1" ~= nil)
-- expect: true
