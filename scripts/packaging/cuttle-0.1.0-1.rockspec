-- The Lua module (require "cuttle") for a stock Lua 5.4. In a checkout, from its root:
--   luarocks make scripts/packaging/cuttle-0.1.0-1.rockspec
-- From the archive of `make dist`: luarocks build with the rockspec that `make rockspec` writes.
rockspec_format = "3.0"
package = "cuttle"
version = "0.1.0-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "GPU kernels described in Lua: layouts, tiling, CUDA and CPU engines",
  license = "MIT",
}
supported_platforms = { "linux", "macosx" }
dependencies = { "lua ~> 5.4" }
build = {
  type = "make",
  build_target = "module",
  install_target = "install-module",
  build_variables = {
    CFLAGS = "$(CFLAGS)",
    LUA_CFLAGS = "-I$(LUA_INCDIR)",
    LUA = "$(LUA)",
    WERROR = "",
  },
  install_variables = {
    LUA_MODULE_DIR = "$(LIBDIR)",
    LUA = "$(LUA)",
  },
}
