-- played_libraries.lua: a driver and a compiler of tests/c, built in a folder, which play a device.
--   local device = dofile "tests/support/played_libraries.lua"(folder)
-- What to put before a command, so that the program takes them; nil where there is no C compiler.
return function(folder)
  local here = os.getenv "PWD"
  local function build(source, flags, library)
    return os.execute(("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC %s -I'%s' "
      .. "'%s/tests/c/%s' -o '%s' 2>/dev/null"):format(os.getenv "CC" or "cc", flags, here, here,
      source, library))
  end
  local driver, compiler = folder .. "/libcuda.so", folder .. "/libnvrtc.so"
  return build("fake_libcuda.c", "-DWITHOUT_PARAM_INFO", driver)
    and build("fake_nvrtc.c", "", compiler)
    and ("CUTTLE_LIBCUDA='%s' CUTTLE_NVRTC='%s' CUTTLE_DEVICE=cuda"):format(driver, compiler)
end
