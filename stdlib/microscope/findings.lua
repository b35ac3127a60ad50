-- findings.lua: the kinds of findings, and where findings are in files. Every kind is a row of
-- runtime/watch/check.def: {kind =, id =, title =, rule =, remedy =}.
--   M.kinds                the rows, in order
--   M.of[kind], M.of[id]   one of them
--   M.list()               all of them as text; M.explain(id) one; nil if there is none
--   M.relative(path)       the path as seen from the working folder, if it is inside
--   M.locate(findings, script)   gives each finding, where they are known, `file`, `other_file`
--                          (relative to the working folder, if inside it), `source` and
--                          `other_source`, the lines without blanks at both ends
local internal = ...
local lists = require "cuttle.lists"
local near = require "cuttle.near"
local sources = require "cuttle.source_lines"
local M = { kinds = internal.watch.check_kinds(), of = {} }

for _, row in ipairs(M.kinds) do
  M.of[row.kind], M.of[row.id] = row, row
end

-- {====== The rows as text ======

function M.list()
  local lines = lists.map(M.kinds, function(row) return ("%-26s %s"):format(row.id, row.title) end)
  return table.concat(lines, "\n")
end

function M.explain(id)
  local row = M.of[id:upper()] or M.of[id]
  return row and ("%s: %s\n  rule    %s\n  remedy  %s"):format(row.id, row.title, row.rule,
    row.remedy)
end

-- What to add to the message that there is no such id.
function M.hint(id)
  local ids = lists.map(M.kinds, function(row) return row.id end)
  local nearest = near.nearest(id:upper(), ids)
  return nearest and ("; did you mean %s?"):format(nearest) or ""
end

-- {====== Files ======

-- Lua cuts long names of chunks at the front; the modules that were loaded have theirs in full.
local function full_name(chunk, script)
  local tail = chunk:match "^%.%.%.(.+)$"
  if not tail then return chunk end
  if script:sub(-#tail) == tail then return script end
  for name in pairs(package.loaded) do
    local path = package.searchpath(name, package.path)
    if path and path:sub(-#tail) == tail then return path end
  end
  return chunk
end

-- The path in the working folder, if it is there, without "./".
function M.relative(path)
  local here = os.getenv "PWD"
  if here and path:sub(1, #here + 1) == here .. "/" then path = path:sub(#here + 2) end
  return (path:gsub("^%./+", ""))
end

-- path_of(chunk): the file of a chunk; nil of what was not in a file.
local function path_finder(script)
  local known = {}
  return function(chunk)
    if known[chunk] == nil then
      local path = full_name(chunk, script)
      local file <close> = io.open(path, "rb")
      known[chunk] = file and M.relative(path) or false
    end
    return known[chunk] or nil
  end
end

local function trimmed(text) return text and text:match "^%s*(.-)%s*$" end

function M.locate(findings, script)
  local path_of, line_of = path_finder(script), sources.reader()
  for _, f in ipairs(findings) do
    f.file = path_of(f.chunk)
    f.source = trimmed(line_of(f.file or f.chunk, f.line))
    if f.other_chunk then
      f.other_file = path_of(f.other_chunk)
      f.other_source = trimmed(line_of(f.other_file or f.other_chunk, f.other_line))
    end
  end
end

return M
