-- played_device.lua: a device that is played by a driver and a compiler of tests/c: kernels are
-- launched, but do nothing. For tests of what happens around launches.
--   local played = dofile "tests/support/played_device.lua"    skips all where it cannot be built
--   played.folder               folder.lua's, in which its programs run
--   played.run(arguments[, environment])    the program there, on that device, with a cache there
--   played.head                 the begin of a script that needs `internal`, the library's functions
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"
local played = { folder = folder }

local here = folder.absolute "."
local program = folder.absolute(arg[-1])
local device = dofile "tests/support/played_libraries.lua"(folder.path)
played.head = ('package.path = "%s/tests/support/?.lua;" .. package.path\n'):format(here)
  .. 'local internal = require "internal"\n'

function played.run(arguments, environment)
  local command <const> = "%s CUTTLE_CACHE=cache %s '%s' %s </dev/null"
  return folder.run(command:format(device, environment or "", program, arguments))
end

if not folder.run(("CUTTLE_DEVICE=cpu '%s' info"):format(program)):find "\nNVRTC +" then
  folder.remove()
  tap.skip_all "under `cuttle emit` there is no program to run"
end

if not device then
  folder.remove()
  tap.skip_all "no C compiler"
end
return played
