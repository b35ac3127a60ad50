-- source_lines.lua: the lines of chunks, as errors call them: of scripts, and of what was typed at
-- the prompt or came in a file of a launch. A sandbox has no files.
--   M.of(chunk)      the list of its lines; empty where its text is not known
--   M.reader()       read(chunk, line): the line's text, or nil; it reads each chunk once
local internal = ...
local M = {}

local function text_of(chunk)
  local text = internal.host.shown(chunk)
  local file <close> = not text and io and io.open and io.open(chunk) or nil
  return text or file and file:read "a"
end

function M.of(chunk)
  local lines, text = {}, text_of(chunk)
  if not text then return lines end
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\r?\n") do
    lines[#lines + 1] = line
  end
  return lines
end

function M.reader()
  local known = {}
  return function(chunk, line)
    known[chunk] = known[chunk] or M.of(chunk)
    return known[chunk][line]
  end
end

return M
