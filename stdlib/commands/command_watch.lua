-- command_watch.lua: `cuttle watch script.lua [COMMAND [options]]`: runs the command at each save.
-- It looks at the file a hundred times a second, on every system in the same way.
--|watch script.lua       run it, or a command such as check, again at each save
local process = require "cuttle.process"

local USAGE <const> = "usage: cuttle watch script.lua [COMMAND [options]]\n"
  .. "\n"
  .. "Runs the script now, and again whenever its file is saved. With a COMMAND it runs\n"
  .. "cuttle COMMAND options script.lua, as in cuttle watch k.lua check --nan. A run that is\n"
  .. "still in progress at the next save is ended. Only the script's own file is looked at.\n"
  .. "Ctrl-C ends it."

local POLL_MS <const> = 10

local function fail(format, ...) error(("watch: " .. format):format(...), 0) end

-- The arguments of the program for a run.
local function arguments_of(script, command, ...)
  if not command then return { script } end
  local list = table.pack(command, ...)
  list[list.n + 1] = script
  return list
end

-- What tells versions of the file apart, once it has stayed the same between two looks: an editor
-- may still be writing it. It waits while there is no such file.
local function settled(script)
  local before
  while true do
    local now = process.changed(script)
    if now and now == before then return now end
    before = now
    process.wait({}, POLL_MS, false)
  end
end

local function start(arguments)
  local p, why = process.start(arguments)
  if not p then fail("%s", why) end
  return p
end

return function(script, ...)
  if script == "--help" then
    print(USAGE)
    return
  end
  if not script then fail "a script was expected; see cuttle watch --help" end
  if script:find "^%-." then fail("unknown option %s; see cuttle watch --help", script) end
  if not process.changed(script) then fail("there is no file %s", script) end
  local arguments, seen, running = arguments_of(script, ...), nil, nil
  while true do
    local now = settled(script)
    if now ~= seen then
      if running then running:kill() end
      seen, running = now, start(arguments)
    end
    process.wait({}, POLL_MS, false)
  end
end
