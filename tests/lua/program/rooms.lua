-- scripts/check_objects.lua and scripts/check_requires.lua find what breaks the rooms of the house:
-- objects and modules are made here that do, under names of files that exist.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local compiler = os.getenv "CC" or "cc"
if not os.execute(("command -v '%s' > /dev/null 2>&1"):format(compiler:match "%S+")) then
  tap.skip_all "no C compiler"
end

-- Objects of these sources, {path = C text}; what check_objects says, and whether it was content.
local function judge(sources)
  local build = os.tmpname()
  os.remove(build)
  for path, text in pairs(sources) do
    local object = build .. "/" .. path:gsub("%.c$", ".o")
    local command = ("mkdir -p '%s' && printf '%%s' '%s' | %s -w -x c -c -o '%s' -"):format(
      object:match "^(.*)/", text, compiler, object)
    assert(os.execute(command), command)
  end
  local said, code = shell.cuttle("scripts/check_objects.lua '%s'", build)
  os.execute(("rm -r '%s'"):format(build))
  return said, code == 0
end

local function finds(name, sources, text)
  local said, is_content = judge(sources)
  tap.ok(not is_content and said:find(text, 1, true) ~= nil, name, said)
end

local said, is_content = judge {
  ["runtime/layout/layout.c"] = "int a(void) { return 1; }",
  ["runtime/emit/emit_cuda.c"] = "int a(void); int b(void) { return a(); }",
}
tap.ok(is_content, "the emitter may use the algebra", said)

finds("the algebra may not use the emitter", {
  ["runtime/layout/layout.c"] = "int b(void); int a(void) { return b(); }",
  ["runtime/emit/emit_expr.c"] = "int b(void) { return 1; }",
}, "runtime/layout/layout.c uses b of runtime/emit/emit_expr.c")

finds("the two engines may not know each other", {
  ["runtime/simt/simt.c"] = "int b(void); int a(void) { return b(); }",
  ["runtime/emit/emit_expr.c"] = "int b(void) { return 1; }",
}, "runtime/simt/simt.c uses b of runtime/emit/emit_expr.c")

finds("a circle in a room without one", {
  ["interp/watch/bind_check.c"] = "int b(void); int a(void) { return b(); }",
  ["interp/watch/bind_trace.c"] = "int a(void); int b(void) { return a(); }",
}, "2 objects of interp/watch reach each other in a circle")

finds("a function that is not declared in its own room", {
  ["interp/front/source.c"] = "int front_serial(void) { return 1; }",
}, "declares front_serial, which interp/front/source.c defines")

-- Modules of these texts, {path = text}; what check_requires says of a tree that has only these.
local function judge_modules(sources)
  local root = os.tmpname()
  os.remove(root)
  assert(os.execute(("mkdir -p '%s' && ln -s \"$PWD/scripts\" '%s/scripts'"):format(root, root)))
  for path, text in pairs(sources) do
    local full = root .. "/" .. path
    assert(os.execute(("mkdir -p '%s'"):format(full:match "^(.*)/")))
    local file <close> = assert(io.open(full, "w"))
    file:write(text)
  end
  local said, code = shell.run("cd '%s' && '%s' scripts/check_requires.lua", root, shell.program)
  os.execute(("rm -r '%s'"):format(root))
  return said, code == 0
end

local function finds_module(name, sources, text)
  local found, passed = judge_modules(sources)
  tap.ok(not passed and found:find(text, 1, true) ~= nil, name, found)
end

said, is_content = judge_modules {
  ["stdlib/mesh/move.lua"] = 'local sharding = require "cuttle.sharding"',
  ["stdlib/sharding/sharding.lua"] = "return {}",
}
tap.ok(is_content, "what runs on meshes may use their algebra", said)

finds_module("the algebra of shardings may not use what runs, even when it is called", {
  ["stdlib/sharding/sharding.lua"] = 'return function() return require("cuttle.move") end',
  ["stdlib/mesh/move.lua"] = "return {}",
}, "stdlib/sharding/sharding.lua:1: require: 'stdlib/mesh/move.lua' is above or beside")

finds_module("a circle of modules of one room", {
  ["stdlib/mesh/move.lua"] = 'local ranks = require "cuttle.ranks"',
  ["stdlib/mesh/ranks.lua"] = 'return function() return require "cuttle.move" end',
}, "2 modules reach each other in a circle: stdlib/mesh/move.lua, stdlib/mesh/ranks.lua")

finds_module("a door that is not of the room", {
  ["stdlib/sharding/sharding.lua"] = "local internal = ...\nreturn internal.mesh.copy",
}, "stdlib/sharding/sharding.lua:2: require: internal.mesh: modules of stdlib/sharding may use the "
  .. "language alone")

finds_module("a module that is not there", {
  ["stdlib/mesh/move.lua"] = 'local ranks = require "cuttle.rankz"',
}, "there is no module 'cuttle.rankz'")

tap.done()
