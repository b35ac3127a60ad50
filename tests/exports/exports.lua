-- libcuttle.so and the Lua module show to the linker what the public headers declare, all of it and
-- nothing else; and a program that includes these headers runs with the shared library alone.
--   lua tests/exports/exports.lua BUILD
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local build = arg[1]
local cc = os.getenv "CC" or "cc"

local function capture(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local out = pipe:read "a"
  return out, pipe:close() == true
end

local nm = capture("nm -D --defined-only " .. build .. "/libcuttle.so")
if not nm:find "cuttle_open" then tap.skip_all "no nm, or not an ELF system" end

local function exported_by(library)
  local names = {}
  for kind, name in capture("nm -D --defined-only " .. library):gmatch "(%a) ([%w_]+)" do
    if kind ~= "A" then names[#names + 1] = name end -- A: a version
  end
  table.sort(names)
  return names
end

local folder = shell.folder()

local function write(name, text)
  local path = folder .. "/" .. name
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local headers = '#include "interp/cuttle.h"\n#include "runtime/ct.h"\n'

-- What the headers declare, by the generator of the lists; each library must export all of it.
local declared = {}
local all = write("headers.c", headers)
local list = "%s -std=c11 -I. -E %s | %s scripts/exports.lua names"
for name in capture(list:format(cc, all, arg[-1])):gmatch "[%w_]+" do
  declared[#declared + 1] = name
end
tap.ok(#declared > 300, "the headers declare the core and the interpreter", #declared)

-- Does the compiler know each of the names, after the public headers alone?
local function known(names)
  local uses = {}
  for i, name in ipairs(names) do uses[i] = "  (void)sizeof(&" .. name .. ");\n" end
  local text = headers .. "void f(void);\nvoid f(void) {\n" .. table.concat(uses) .. "}\n"
  return capture(("%s -std=c11 -I. -fsyntax-only %s"):format(cc, write("uses.c", text)))
end

-- Each has a version, so that a program that needs a newer library is told so when it is loaded.
tap.ok(nm:find "cuttle_open@@CUTTLE_%d+%.%d+", "names have versions",
  nm:match "[^\n]*cuttle_open[^\n]*")

for _, library in ipairs { "libcuttle.so", "cuttle.so" } do
  local names = exported_by(build .. "/" .. library)
  tap.is(table.concat(names, "\n"), table.concat(declared, "\n"),
    library .. " exports what the headers declare")
  local out, ok = known(names)
  tap.ok(ok, "a compiler knows all names of " .. library .. " by the headers", out)
end
tap.ok(not select(2, known { "ct_low_op" }), "and not one that they do not declare")

-- A host that has the shared library alone.
local host = write("host.c", headers .. [[
int main(void) {
  cuttle_State *S = cuttle_open(NULL);
  int ok = S != NULL && cuttle_dostring(S, "assert(size(layout{4, 8}) == 32)", NULL) == CUTTLE_OK;
  cuttle_close(S);
  printf("%s %s\n", ok ? "ran" : "failed", ct_dtypes[CT_f32].name);
  return ok ? 0 : 1;
}
]])
local command = "%s -std=c11 -I. %s -o %s/host %s/libcuttle.so && LD_LIBRARY_PATH=%s %s/host"
local out, ok = capture(command:format(cc, host, folder, build, build, folder))
tap.ok(ok and out == "ran f32\n", "a program runs with the shared library", out)

-- A host with another Lua, such as LuaJIT: none of the library's calls goes there.
if capture("nm " .. build .. "/gen/liblua_own.a"):find "cuttle_own_lua_newstate" then
  local lines, seen = {}, {}
  for name in capture("nm -D -u " .. build .. "/cuttle.so"):gmatch " U (lua[%w_]+)" do
    lines[#lines + 1] = ("void %s(void);\nvoid %s(void) { other(); }\n"):format(name, name)
    seen[name] = true
  end
  tap.ok(seen.lua_newstate and seen.luaL_loadbufferx, "the module takes the Lua that requires it")
  local other = write("other.c", "#include <stdlib.h>\n#include <stdio.h>\n"
    .. 'static void other(void) { puts("the other Lua"); fflush(stdout); abort(); }\n'
    .. table.concat(lines))
  -- With all of the functions it would pass for a Lua 5.4.
  local both = "sed '/lua_toclose/d' %s > %s.c && "
    .. "%s -std=c11 -I. %s %s.c -rdynamic -o %s %s/libcuttle.so"
  local program = folder .. "/other_lua"
  out, ok = capture(both:format(other, program, cc, host, program, program, build))
  tap.ok(ok, "a program with a Lua of its own builds", out)
  local shared = "liblua5.4.so.0"
  local has_shared = capture("/sbin/ldconfig -p"):find(shared, 1, true)
  for _, preload in ipairs { "", has_shared and "LD_PRELOAD=" .. shared or nil } do
    out, ok = capture(("LD_LIBRARY_PATH=%s %s %s"):format(build, preload, program))
    tap.ok(ok and out == "ran f32\n", "it runs with the shared library " .. preload, out)
  end
  local lua = '%s -e "print(package.loadlib([[%s/libcuttle.so]], [[luaopen_cuttle]])()'
    .. '.layout{4, 8})"'
  out, ok = capture(lua:format(arg[-1], build))
  tap.ok(ok and out == "(4,8):(1,4)\n", "the shared library is a module of Lua, too", out)
else
  tap.skip("a host with another Lua", "the shared library takes the system's")
end

os.execute("rm -r " .. folder)
tap.done()
