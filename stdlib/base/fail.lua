-- fail.lua: errors of what a script has called: "matmul: K is 3 ...", at the script's line.
local internal = ...
local M = {}

--- `op` is what the script called; the rest is as string.format takes it.
function M.fail(op, format, ...)
  internal.host.fail(("%s: %s"):format(op, format:format(...)))
end

--- The same function for one op.
function M.of(op)
  return function(format, ...) M.fail(op, format, ...) end
end

return M
