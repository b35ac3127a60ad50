-- What `make install-headers` installs is whole: programs compile against it alone.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local folder = os.tmpname()
os.remove(folder)

local function run(command)
  local out, code = shell.run(command)
  return code == 0, out
end

local function report(name, ok, out) tap.ok(ok, name, out) end

report("make install-headers",
  run(("make -s install-headers PREFIX=/usr DESTDIR=%s MAKEFLAGS="):format(folder)))
local compile = ("%s -std=c11 -Wall -Werror -I%s/usr/include -fsyntax-only -xc -"):format(
  os.getenv("CC") or "cc", folder)
for i, name in ipairs { "cuttle/ct.h", "cuttle.h" } do
  local line = ("#include <%s>"):format(name)
  report(line, run(("echo '%s' | %s"):format(line, compile)))
end
for _, compiler in ipairs { "c++", "clang++", "clang++-14" } do
  if run("command -v " .. compiler) then
    local check = "echo '#include <cuttle.hpp>' | %s -std=c++17 -Wall -Wextra -Wpedantic "
      .. "-Wconversion -Wshadow -Werror -I%s/usr/include -fsyntax-only -xc++ -"
    report("cuttle.hpp by " .. compiler, run(check:format(compiler, folder)))
  end
end
run("rm -rf " .. folder)
tap.done()
