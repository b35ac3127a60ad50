-- text_file.lua: M.read(path): all of a file's bytes; nil and "PATH: why" if it cannot be read. On
-- Linux a folder can be opened, but not read.
local M = {}

function M.read(path)
  local file <close>, why = io.open(path, "rb")
  if not file then return nil, why end
  local text
  text, why = file:read "a"
  return text, why and ("%s: %s"):format(path, why)
end

return M
