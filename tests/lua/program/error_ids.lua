-- Errors as data: ids that stay, values, remedies and edits.
local script_error = require "cuttle.script_error"
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local read = shell.read_file

local output_of = shell.run

-- {====== The table ======

local page = read "docs/errors.md"
local first_lines = page:gsub("%f[^\n](CE%-%d+ [^\n]-)\\n[^\n]*", "%1")
-- New messages get their ids when somebody runs `lua scripts/gen_errors.lua`, at the latest before a
-- release; until then they have none.
local seen, fault = {}, nil
for id, format in page:gmatch "%f[^\n](CE%-%d+) ([^\n]+)" do
  fault = fault or seen[id] and id .. " twice" or seen[format] and format .. " twice" or nil
  seen[id], seen[format] = true, true
end
tap.ok(not fault, "no id and no format comes twice", fault)

-- Ids are promises: these are some of the first.
local golden <const> = {
  { "CE-0001", "attempt to call a nil value (global 'f'); did you mean 'g'?" },
  { "CE-0012", "bad argument #1 to 'insert' (table expected, got nil)" },
  { "CE-0017", "not enough memory" },
  { "CE-0106", "'mark' (line 3) is float but is given bool here; use another name for it" },
  { "CE-1933", "rawlen of a tensor; size(t) is the number of elements of a tensor" },
}
for _, row in ipairs(golden) do
  tap.is(script_error.identify(row[2], first_lines), row[1], row[1] .. " is the id of " .. row[2])
end

-- What tests/fails expects is the first line of a message, of which "..." stands for a part;
-- scripts/check_reports.sh takes whole messages.
local without <const> = {
  ["at most 8 rows"] = "the script raises it",
  ["no mode is called vanilla"] = "the script raises it",
  ["the function of m:run yields; only collectives wait"] = "the name before it is not expected",
}
local n, unknown = 0, {}
for path in output_of "ls tests/fails/*.cases":gmatch "[^\n]+" do
  for message in read(path):gmatch "%-%- expect error: ([^\n]*)" do
    n = n + 1
    if (script_error.identify(message, first_lines) ~= nil) == (without[message] ~= nil)
      and not message:find("...", 1, true) then
      unknown[#unknown + 1] = message
    end
  end
end
tap.ok(n > 1000 and #unknown == 0, "all messages of tests/fails have an id",
  table.concat(unknown, "\n"))

-- {====== Parts ======

local e = script_error.of("a.lua:2: x.y: A is (4,2); K must be equal; write B", "")
tap.is(("%s|%d|%s|%s|%s"):format(e.file, e.line, e.what, e.rule, e.remedy),
  "a.lua|2|x.y: A is (4,2)|K must be equal|write B", "what, rule and remedy")
local source = "local n = 1\nlocal x = zoros(f32, n)\n"
e = script_error.of("a.lua:2: attempt to call a nil value (global 'zoros'); did you mean 'zeros'?",
  source)
tap.is(("%d %d-%d %s"):format(e.column, e.edit.column, e.edit.end_column, e.edit.text),
  "11 11-16 zeros", "an edit that mends a name")
local edit = script_error.finding_edit({ line = 2, message = "race: put sync_threads() between "
  .. "line 1 and line 2" }, "  s[0] = 1\n  y[0] = s[1]\n")
tap.is(("%d:%d %q"):format(edit.line, edit.column, edit.text), '2:1 "  sync_threads()\\\n"',
  "an edit that mends a race")
local _, values = script_error.identify("k: block (2048,1,1) has 2048 threads; expected 1 to 1024, "
  .. "at most 64 in z", first_lines)
tap.is(table.concat(values, "|"), "k|2048|1|1|2048|1024|64", "values")
tap.done()
