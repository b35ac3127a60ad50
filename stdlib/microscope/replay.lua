-- replay.lua: launches from the files that `capture` and CUTTLE_CAPTURE write.
--   replay(file)   the launch, prepared: a function; its arguments; and what else is known of it
local internal = ...
local M = {}

function M.replay(path)
  local kernel, config, args, info = internal.replay(path)
  info.grid, info.block = config.grid, config.block
  return kernel:prepare(config)(table.unpack(args, 1, args.n)), args, info
end

-- Does the file hold a launch?
function M.is_launch(path)
  local file <close> = io.open(path, "rb")
  local magic = file and file:read(8)
  return magic == "CUTTLECK" or magic == "CUTTLESL" -- of `capture`; of an exported kernel
end

return M
