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
local driver, compiler = folder.path .. "/libcuda.so", folder.path .. "/libnvrtc.so"
played.head = ('package.path = "%s/tests/support/?.lua;" .. package.path\n'):format(here)
  .. 'local internal = require "internal"\n'

function played.run(arguments, environment)
  local command = "CUTTLE_LIBCUDA='%s' CUTTLE_NVRTC='%s' CUTTLE_DEVICE=cuda CUTTLE_CACHE=cache "
    .. "%s '%s' %s </dev/null"
  return folder.run(command:format(driver, compiler, environment or "", program, arguments))
end

if not folder.run(("CUTTLE_DEVICE=cpu '%s' info"):format(program)):find "\nNVRTC +" then
  folder.remove()
  tap.skip_all "under `cuttle emit` there is no program to run"
end

local function build(source, flags, library)
  local command = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC %s -I'%s' '%s/tests/c/%s' "
    .. "-o '%s'"):format(os.getenv "CC" or "cc", flags, here, here, source, library)
  return select(2, folder.run(command)) == 0
end

if not build("fake_libcuda.c", "-DWITHOUT_PARAM_INFO", driver)
  or not build("fake_nvrtc.c", "", compiler) then
  folder.remove()
  tap.skip_all "no C compiler"
end
return played
