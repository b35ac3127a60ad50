-- script_error.lua: an error of a script as data.
--   M.of(text)     {message =, file =, line =}: what diag.c made of it
--   M.text(value)  the text of what was raised
local M = {}

function M.of(text)
  local file, line, message = text:match "^([^\n:]+):(%d+): (.*)$"
  return { file = file, line = math.tointeger(tonumber(line)), message = message or text }
end

function M.text(value)
  if type(value) == "string" then return value end
  local has_text = getmetatable(value) and getmetatable(value).__tostring
  return has_text and tostring(value)
    or ("the error is a %s, not a message"):format(type(value))
end

return M
