-- What `make install` installs, in a folder of its own: hosts in C and C++ build against it by pkg-config,
-- with the shared library and with the archive, which leaves them their names.
local build = arg[-1]:match "^(.*)/" or "."
local folder = os.tmpname()
os.remove(folder)
local prefix <const> = "/opt/cuttle"
local root = folder .. prefix
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function run(command)
  local out, code = shell.run(command)
  return code == 0, out
end

local function report(name, ok, note) tap.ok(ok, name, note) end

local function has(command) return (run("command -v " .. command)) end

if not run("nm " .. build .. "/libcuttle.a >/dev/null") or not has "pkg-config" then
  tap.skip_all "no archive, or no pkg-config"
elseif run(("nm %s/libcuttle.so | grep -q __asan_init"):format(build)) then
  tap.skip_all "a sanitized library needs hosts that are"
end

report("make install-files", run(("make -s install-files PREFIX=%s DESTDIR=%s BUILD=%s MAKEFLAGS=")
  :format(prefix, folder, build)))

-- {====== Debug information ======

local function is_installed(path)
  local file = io.open(root .. path)
  return file and file:close() or false
end

local has_info <const> = "readelf -S %s | grep -q debug_info"
if has "readelf" and run(has_info:format(build .. "/cuttle")) then
  for _, path in ipairs { "/bin/cuttle", "/lib/libcuttle.a" } do
    report(path .. " is stripped", is_installed(path) and not run(has_info:format(root .. path))
      and not is_installed(path .. ".debug"))
  end
  report("the stripped program runs", run(root .. "/bin/cuttle -e 'print(size(layout{4}))'"))
  local with_debug = "make -s install-files DEBUG_INFO=1 PREFIX=/debug DESTDIR=%s BUILD=%s"
  report("make install-files DEBUG_INFO=1", run(with_debug:format(folder, build) .. " MAKEFLAGS="))
  local installed = folder .. "/debug/bin/cuttle"
  report("debug information lies beside",
    run(has_info:format(installed .. ".debug")) and not run(has_info:format(installed)))
  report("and the program names it",
    run(("readelf --string-dump=.gnu_debuglink %s | grep -q cuttle.debug"):format(installed)))
else
  tap.skip("debug information", "no readelf, or none was built")
end

-- {====== Hosts ======

local cc, cxx = os.getenv("CC") or "cc", "c++"
local pkg = ("PKG_CONFIG_PATH=%s/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=%s pkg-config"):format(root,
  folder)
local shared <const> = ("$(%s --cflags --libs cuttle) -Wl,-rpath,%s/lib"):format(pkg, root)
local archive = ("$(%s --cflags cuttle) %s/lib/libcuttle.a %s/lib/libcuttle_core.a "
  .. "$(pkg-config --libs lua5.4) -lm -ldl"):format(pkg, root, root)

local function write(name, text)
  local file <close> = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  return folder .. "/" .. name
end

-- Compiles with the warnings that hosts have, and runs.
local function host(name, compiler, source, libs, arguments)
  report(name, run(("%s -Wall -Wextra -Wpedantic -Werror %s -pthread %s -o %s/host && %s/host %s")
    :format(compiler, source, libs, folder, folder, arguments or "")))
end

for _, sample in ipairs { "core", "host" } do
  host(sample .. ".c, shared", cc, ("examples/embed/%s.c"):format(sample), shared)
  host(sample .. ".c, archive", cc, ("examples/embed/%s.c"):format(sample), archive)
end
local ok, out = run(folder .. "/host /nowhere/script.lua")
report("host.c tells of a script that is missing",
  not ok and out:find("/nowhere/script.lua: No such file or directory", 1, true), out)

for _, sample in ipairs { "core", "ir_file" } do
  local libs = ("$(%s --cflags --libs cuttle-core)"):format(pkg)
  host(sample .. ".c, core alone", cc, ("examples/embed/%s.c"):format(sample), libs)
end
local calls_lua = ("nm %s/lib/libcuttle_core.a | grep ' U lua'"):format(root)
report("the core knows no Lua", not run(calls_lua))

local own = write("own.c", [[
#include <cuttle.h>
#include <stdio.h>
void *state_new(void);
void state_free(void *s);
void value_push(int x);
int launch_read;
void *state_new(void) { return &launch_read; }
void state_free(void *s) { (void)s; }
void value_push(int x) { printf("%d\n", x); }
int main(void) {
  cuttle_State *S = cuttle_open(NULL);
  state_free(state_new());
  value_push(1);
  int status = S == NULL || cuttle_dostring(S, "zeros(f32, 4)", "=own") != CUTTLE_OK;
  cuttle_close(S);
  return status;
}
]])
host("a host with names of its own", cc, own, archive)
ok, out = run(("nm -g --defined-only %s/lib/libcuttle.a | awk 'NF == 3 { print $3 }'"):format(root)
  .. " | grep -Ev '^(ct_|cuttle_|luaopen_cuttle$|__)'")
report("all names of the archive have its prefix", not ok, out)
local list = "nm -g --defined-only %s/lib/libcuttle_core.a | awk 'NF == 3 { print $3 }'"
ok, out = run(list:format(root) .. " | grep -Ev '^(ct_|cuttle_|__)'")
report("and those of the core", not ok, out)

local plus = write("plus.cc", [[
#include <cuttle.h>
#include <cuttle/ct.h>
#include <cstring>
int main() {
  CtArena arena;
  CtLayout layout;
  CtErr err;
  ct_arena_init(&arena, ct_alloc_std);
  const char *text = "(4,8):(8,1)";
  bool ok = ct_layout_parse(&arena, text, std::strlen(text), &layout, &err) == CT_OK;
  ct_arena_clear(&arena);
  cuttle_State *S = cuttle_open(nullptr);
  cuttle_close(S);
  return ok && S != nullptr && ct_is_const(ct_int(3), 3) ? 0 : 1;
}
]])
if has(cxx) then
  host("a host in C++", cxx .. " -std=c++11", plus, shared)
  for _, version in ipairs { "14", "17", "20" } do
    report("the headers in C++" .. version, run(
      ("%s -std=c++%s -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only %s $(%s --cflags "
        .. "cuttle)")
      :format(cxx, version, plus, pkg)))
  end
end
if has(cxx) then
  local options = cxx .. " -std=c++17 -Wconversion -Wshadow"
  host("host.cpp", options, "examples/embed/host.cpp", shared)
  host("cuttle.hpp", options, "tests/install/plus.cpp", shared)
  host("cuttle.hpp, archive", options, "tests/install/plus.cpp", archive)
  host("cuttle.hpp in C++20", cxx .. " -std=c++20", "tests/install/plus.cpp", shared)
else
  tap.skip("C++", "no C++ compiler")
end

-- {====== CMake ======

if has "cmake" and has(cxx) then
  local cmake = ("cmake -S tests/install -B %s/cmake -DCMAKE_PREFIX_PATH=%s"):format(folder, root)
  report("cmake configures", run(cmake))
  report("and builds", run(("cmake --build %s/cmake"):format(folder)))
  for _, sample in ipairs { "host", "core", "ir_file", "host_cpp", "plus" } do
    report(sample .. " by cmake", run(("%s/cmake/%s"):format(folder, sample)))
  end
  local newer = folder .. "/newer"
  run("mkdir " .. newer)
  write("newer/CMakeLists.txt",
    "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nfind_package(cuttle 0.2 REQUIRED)\n")
  report("another minor version is refused", not run(
    ("cmake -S %s -B %s/build -DCMAKE_PREFIX_PATH=%s"):format(newer, newer, root)))
else
  tap.skip("cmake", "no cmake, or no C++ compiler")
end
run("rm -rf " .. folder)
tap.done()
