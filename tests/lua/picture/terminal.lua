-- In a terminal `show` has colours and knows the width, unless the environment says otherwise.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local ok = tap.ok

local can = os.execute("command -v script stty >/dev/null 2>&1 && script -qec true /dev/null")

-- What `show` of a row of 30 prints in a terminal of 60 columns; as one line per grid.
local function shown(environment)
  local command = "stty cols 60; env -u COLUMNS -u NO_COLOR TERM=xterm %s '%s' -e 'show[[30:1]]'"
  command = command:format(environment, arg[-1])
  local quoted = command:gsub("'", "'\\''")
  return (shell.run("script -qec '%s' /dev/null </dev/null", quoted))
end

local function count(text, what) return select(2, text:gsub(what, "")) end

local cases = {
  { "colours and lines", "LC_ALL=C.UTF-8", true, "\u{250C}", 3 },
  { "no colours with NO_COLOR", "LC_ALL=C.UTF-8 NO_COLOR=1", false, "\u{250C}", 3 },
  { "no colours in a dumb terminal", "LC_ALL=C.UTF-8 TERM=dumb", false, "\u{250C}", 3 },
  { "plain lines without UTF-8", "LC_ALL=C", true, " %+%-", 6 },
  { "COLUMNS is the width", "LC_ALL=C.UTF-8 COLUMNS=200", true, "\u{250C}", 1 },
}
for _, case in ipairs(cases) do
  if can then
    local text = shown(case[2])
    local is_colored = text:find("\27[48;5;", 1, true) ~= nil
    ok(is_colored == case[3] and count(text, case[4]) == case[5], case[1])
  else
    tap.skip(case[1], "no script or stty here")
  end
end
tap.done()
