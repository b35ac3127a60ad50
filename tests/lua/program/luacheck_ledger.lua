-- scripts/luacheck.sh runs luacheck on a file again when the file or the setting changed, and only then.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local folder = os.tmpname()
os.remove(folder)
assert(os.execute(("mkdir -p '%s/bin' '%s/lua/notebook'"):format(folder, folder)))

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function read(name)
  local file <close> = io.open(folder .. "/" .. name)
  return file and file:read "a"
end

-- A luacheck that has a version, notes its files, and finds the word `wrong`.
local function write_luacheck(version)
  write("bin/luacheck", ([[#!/bin/sh
[ "$1" != --version ] || { echo %s; exit; }
shift 2
echo "$@" > '%s/runs'
! grep wrong "$@"
]]):format(version, folder))
  assert(os.execute(("chmod +x '%s/bin/luacheck'"):format(folder)))
end

-- The files that it ran on, by their names alone, and whether the script passed.
local function check()
  os.remove(folder .. "/runs")
  local passed = os.execute(("PATH='%s/bin':\"$PATH\" LINTED='%s/ledger' STAMP='%s/stamp' "
    .. "scripts/luacheck.sh '%s/lua' >/dev/null"):format(folder, folder, folder, folder))
  local files = (read "runs" or ""):gsub("%S*/", ""):gsub("\n", "")
  return ("%s: %s"):format(passed and "passed" or "failed", files)
end

local function keep() write("ledger", assert(read "stamp")) end

write_luacheck "version 1"
write("ledger", "")
write("lua/a.lua", "return 1\n")
write("lua/b.lua", "return 2\n")
tap.is(check(), "passed: a.lua b.lua", "files that no ledger knows are checked")
keep()
tap.is(check(), "passed: ", "those that the ledger vouches for are not")
write("lua/b.lua", "return 3\n")
tap.is(check(), "passed: b.lua", "one that has changed is")
keep()
write("lua/b.lua", "return 2\n")
tap.is(check(), "passed: b.lua", "one that is again as it once was is")
write("lua/b.lua", "return wrong\n")
os.remove(folder .. "/stamp")
tap.is(check(), "failed: b.lua", "what is found fails")
tap.ok(not read "stamp", "and leaves no stamp")
write("lua/b.lua", "return 3\n")
write_luacheck "version 2"
tap.is(check(), "passed: a.lua b.lua", "with another version all are checked")
keep()
write("lua/notebook/c.lua", "x = 1\n")
check()
keep()
tap.is(check(), "passed: c.lua", "notebooks always are")

os.execute(("rm -r '%s'"):format(folder))
tap.done()
