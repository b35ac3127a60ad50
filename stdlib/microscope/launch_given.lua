-- launch_given.lua: the arguments of a launch that a tool was given: those of a launcher, as
-- k:prepare makes it, else those that follow in the call.
local M = {}

--- `unpacked`: what internal.launch.launch returned of it; `...`: what else the tool was given. A
--- launcher has its arguments: then nothing may follow, and `fail` says so.
function M.arguments(unpacked, fail, ...)
  if unpacked.n <= 2 then return table.pack(...) end
  if select("#", ...) > 0 then
    fail("this launch has its arguments; %d more were given, and none was expected",
      select("#", ...))
  end
  return table.pack(table.unpack(unpacked, 3, unpacked.n))
end

return M
