-- prefetch.lua: asks the caches for memory that a kernel will read soon.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local levels = { L1 = true, L2 = true }

local function nothing() end -- what the CPU engine does

-- The line of the first element of t, or of {t, coordinate}.
function M.prefetch(t, level)
  level = level or "L2"
  if not levels[level] then
    tiles.fail("prefetch", 'the level is %s; expected "L1" or "L2"', tostring(level))
  end
  local of = tiles.type_name(t) == "table" and t[1] or t
  local space = tiles.type_name(of) == "tensor" and internal.kernel.space_of(of)
  if not space then
    tiles.fail("prefetch", "argument 1 is a %s; expected a tensor or {tensor, coordinate}",
      tiles.type_name(of))
  elseif space ~= "global" then
    tiles.fail("prefetch", "the tensor is in %s; caches serve global memory only",
      space == "shared" and "shared memory" or space)
  end
  internal.kernel.ptx(("prefetch.global.%s [$tensor];"):format(level), nil, { tensor = t }, nothing)
end

return M
