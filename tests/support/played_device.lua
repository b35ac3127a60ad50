-- played_device.lua: a device that is played by a driver of tests/c: kernels are compiled and
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
local driver = folder.path .. "/libcuda.so"
played.head = ('package.path = "%s/tests/support/?.lua;" .. package.path\n'):format(here)
  .. 'local internal = require "internal"\n'

function played.run(arguments, environment)
  local command = "CUTTLE_LIBCUDA='%s' CUTTLE_DEVICE=cuda CUTTLE_CACHE=cache %s '%s' %s </dev/null"
  return folder.run(command:format(driver, environment or "", program, arguments))
end

local function skip(why)
  folder.remove()
  tap.skip_all(why)
end

local compile = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -DWITHOUT_PARAM_INFO -I'%s' "
  .. "'%s/tests/c/fake_libcuda.c' -o '%s'"):format(os.getenv "CC" or "cc", here, here, driver)
if not folder.run(("CUTTLE_DEVICE=cpu '%s' info"):format(program)):find "\nNVRTC +%d" then
  skip "no NVRTC"
end
if select(2, folder.run(compile)) ~= 0 then skip "no C compiler" end
return played
