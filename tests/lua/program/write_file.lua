-- write_file writes a file whole or not at all; terminal says what the output can show.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local folder = shell.folder()
local path = folder .. "/a file"

local function read() return shell.read_file(path) end

tap.is(write_file(path, "one\0two"), true, "a new file")
tap.is(read(), "one\0two", "has all bytes")
tap.is(write_file(path, ""), true, "another text")
tap.is(read(), "", "takes the place of the old one")
local ok, why = write_file(folder .. "/none/file", "x")
tap.ok(ok == nil and why:find("none/file: No such file", 1, true), "else nil and why", why)
local pipe <close> = io.popen("ls " .. folder)
tap.is(pipe:read("a"), "a file\n", "and nothing is left")
os.execute("rm -r " .. folder)

-- A pipe is no terminal; the environment says the width and the characters.
local function seen(environment)
  local script = "local t = terminal() print(t.columns, t.utf8, t.color)"
  local command = "env -u LC_ALL -u LC_CTYPE -u COLUMNS %s '%s' -e '%s'"
  local out <close> = assert(io.popen(command:format(environment, arg[-1], script)))
  return out:read("l")
end
tap.is(seen("LANG=C"), "nil\tfalse\tfalse", "nothing is known of a pipe")
tap.is(seen("LANG=C.UTF-8 COLUMNS=72"), "72\ttrue\tfalse", "but what the environment says")
tap.done()
