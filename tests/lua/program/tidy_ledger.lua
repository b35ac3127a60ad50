-- scripts/tidy.sh runs clang-tidy on a file again when anything changed that it looks at, and only then.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local compiler = os.getenv "CC" or "cc"
local folder = shell.folder()

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function read(name)
  local file <close> = io.open(folder .. "/" .. name)
  return file and file:read "a"
end

-- A clang-tidy that notes its runs, and finds the word `wrong`.
write("clang-tidy", ([[#!/bin/sh
echo run >> %s/runs
grep -q wrong "$2" && { echo "$2: wrong"; exit 1; }
exit 0
]]):format(folder))
assert(os.execute("chmod +x " .. folder .. "/clang-tidy"))

-- Where the headers of a.c are listed: nowhere, so that the compiler is asked.
local dependencies = "-"

-- How often it ran, whether the script passed, and what it printed.
local function tidy(flags)
  os.remove(folder .. "/runs")
  local out, code = shell.run("CLANG='%s' CLANG_TIDY=%s/clang-tidy LINTED=%s/ledger "
    .. "scripts/tidy.sh %s/a.c %s/a.stamp %s/setting %s -I%s %s", compiler, folder, folder, folder,
    folder, folder, dependencies, folder, flags or "")
  local _, runs = (read "runs" or ""):gsub("run", "")
  return ("%d run, %s"):format(runs, code == 0 and "passed" or "failed"), out
end

-- Vouches for the file as it is.
local function keep() write("ledger", assert(read "a.stamp")) end

write("setting", "version 14\nchecks: some\n")
write("a.h", "int a(void);\n")
write("a.c", '#include "a.h"\nint a(void) { return 1; }\n')

tap.is(tidy(), "1 run, passed", "a file that no ledger knows is checked")
keep()
tap.is(tidy(), "0 run, passed", "one that the ledger vouches for is not")
tap.is(tidy "-DA", "1 run, passed", "with another flag it is")
write("setting", "version 14\nchecks: more\n")
tap.is(tidy(), "1 run, passed", "with another setting it is")
keep()
write("a.h", "int a(void); // of one\n")
tap.is(tidy(), "1 run, passed", "with another header it is")
keep()
write("a.c", '#include "a.h"\nint a(void) { return 1; } // one\n')
tap.is(tidy(), "1 run, passed", "with another comment it is, as comments may silence findings")
keep()
write("a.c", '#include "a.h"\nint a(void) { return 1; } // wrong\n')
os.remove(folder .. "/a.stamp")
local how, out = tidy()
tap.is(how, "1 run, failed", "what is found fails")
tap.ok(out:find("a.c: wrong", 1, true), "and is printed", out)
tap.ok(not read "a.stamp", "and leaves no stamp")
write("a.c", '#include "b.h"\n')
tap.is(tidy():match "failed", "failed", "a header that is missing fails")

-- As the compiler lists them beside an object.
dependencies = folder .. "/a.d"
write("a.c", '#include "c.h"\nint a(void) { return 1; }\n')
write("c.h", "int a(void);\n")
assert(os.execute(("%s -MMD -MP -c %s/a.c -o %s/a.o"):format(compiler, folder, folder)))
tap.is(tidy(), "1 run, passed", "a file whose headers are listed is checked")
keep()
tap.is(tidy(), "0 run, passed", "and then known")
write("c.h", "int a(void); // of one\n")
tap.is(tidy(), "1 run, passed", "until one of the headers changes")

os.execute("rm -r " .. folder)
tap.done()
