-- check_formats.lua: "%%" is one percent sign only in a format. In any other text of a message a
-- reader sees both.
--   lua scripts/check_formats.lua           from the root of the repository
-- A text of C with "%%" must stand in the format of a call: none comes before it among the
-- arguments. Where CUDA C is written (runtime/emit) assembly has percent signs of its own, so that
-- room is left out.
package.path = "./?.lua;" .. package.path
local house = require "scripts.house"
local shell = dofile "scripts/shell.lua"

-- Texts that are pieces of a format which is put together: file -> the text.
local pieces <const> = { ["interp/ops/bind_message.c"] = "%%" }

local findings, n_texts = 0, 0
local function report(path, line, text)
  findings = findings + 1
  local format = "%s:%d: \"%s\" has %%%% but is no format: a reader sees two percent signs"
  print(format:format(path, line, text))
end

-- The tokens that matter: texts, parentheses, commas; each with its line. No comments.
local function tokens_of(source)
  local out, at, line = {}, 1, 1
  local function skip(to)
    line = line + select(2, source:sub(at, to):gsub("\n", ""))
    at = to + 1
  end
  while at <= #source do
    local c = source:sub(at, at)
    if source:find("^/%*", at) then
      skip(select(2, source:find("*/", at, true)) or #source)
    elseif source:find("^//", at) then
      skip((source:find("\n", at, true) or #source + 1) - 1)
    elseif c == "'" then
      skip(select(2, source:find("^'\\?.[^']*'", at)) or at)
    elseif c == '"' then
      local stop = at + 1
      while source:sub(stop, stop) ~= '"' do
        stop = stop + (source:sub(stop, stop) == "\\" and 2 or 1)
      end
      out[#out + 1] = { kind = "text", text = source:sub(at + 1, stop - 1), line = line }
      skip(stop)
    else
      if c:find "[%(%),;{}]" then out[#out + 1] = { kind = c, line = line } end
      skip(at)
    end
  end
  return out
end

-- Whether the text at i comes first among the texts of its call: one argument's count as one.
local function is_format(tokens, i)
  local depth, has_comma = 0, false
  for j = i - 1, 1, -1 do
    local t = tokens[j]
    if t.kind == ")" then depth = depth + 1 end
    if t.kind == "(" and depth == 0 then return true end
    if t.kind == "(" then depth = depth - 1 end
    if t.kind == ";" or t.kind == "{" or t.kind == "}" then return has_comma end
    has_comma = has_comma or (t.kind == "," and depth == 0)
    if t.kind == "text" and depth == 0 and has_comma then return false end
  end
  return false
end

local function check(path)
  local source = shell.read_file(path)
  local tokens = source:find("%%", 1, true) and tokens_of(source) or {}
  for i, t in ipairs(tokens) do
    if t.kind == "text" and t.text:find("%%", 1, true) then
      n_texts = n_texts + 1
      if not is_format(tokens, i) and pieces[path] ~= t.text then report(path, t.line, t.text) end
    end
  end
end

local list <const> = "find interp runtime hosts -name '*.[ch]' | LC_ALL=C sort"
for _, path in ipairs(house.capture_lines(list)) do
  if not path:find "^runtime/emit/" then check(path) end
end
print(("check_formats: %d texts with %%%%, %d findings"):format(n_texts, findings))
os.exit(findings == 0)
