-- replay.lua: launches from the files that `capture` and CUTTLE_CAPTURE write.
--   replay(file[, {trust = true}])
--                  the launch, prepared: a function; its arguments; and what else is known of it
local internal = ...
local M = {}

local trusted = {} -- files that the user trusts

function M.trust(path) trusted[path] = true end

local function read_options(options)
  if options ~= nil and type(options) ~= "table" then
    error(("replay: option %s; a table such as {trust = true} was expected"):format(options), 3)
  end
  for name in pairs(options or {}) do
    if name ~= "trust" then
      error(("replay: option '%s' is unknown; expected trust"):format(tostring(name)), 3)
    end
  end
  return options and options.trust
end

-- What the file holds, and nothing is made of it: no tensors, no kernel.
function M.describe(path) return internal.watch.replay_info(path) end

function M.replay(path, options)
  local trusts = read_options(options) or trusted[path]
  local kernel, config, args, info = internal.watch.replay(path, not not trusts)
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
