-- `cuttle check` in CI: known findings of a baseline, limits of figures, exit codes, a time limit,
-- and the kinds that it explains.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local folder = shell.folder()

local quote = shell.quote

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function read(name) return shell.read_file(folder .. "/" .. name) end

local here = assert(io.popen "pwd"):read "l"
if not cuttle:find "^/" then cuttle = here .. "/" .. cuttle end

-- What is printed, stderr too, and the exit code.
local function run(arguments)
  return shell.run("cd %s && %s %s", folder, quote(cuttle), arguments)
end

local function expect(name, arguments, want, want_code)
  local out, code = run(arguments)
  tap.ok(out == want and code == want_code, name, ("exit code %d, got %q"):format(code, out))
end

-- {====== A baseline ======

local outside = "out of bounds: write of x at 32, extent 32, by thread (0,0,0) of block (0,0,0)"
local function script(before, between)
  return before .. 'local k = kernel("k", function(x)\n  x[threadIdx.x + 32] = 1.0\n' .. between
    .. "end)\nk{grid = 1, block = 32}(zeros(f32, 32))\n"
end
write("k.lua", script("", ""))
expect("all findings are written", "check --write-baseline=known k.lua",
  "k.lua:2: " .. outside .. " (32 times)\ncheck: 1 finding in 1 launch\n", 1)
tap.is(read "known", "# cuttle check: known findings (id, script, line)\n"
  .. "CT-OUT-OF-BOUNDS\tk.lua\tx[threadIdx.x + 32] = 1.0\n", "the file")
local left_out = "check: no finding in 1 launch\ncheck: 1 finding of the baseline left out\n"
expect("known findings do not fail", "check --baseline=known k.lua", left_out, 0)
write("k.lua", script("-- a line more\n\n", ""))
expect("nor after lines have moved", "check --baseline=known k.lua", left_out, 0)
write("k.lua", script("", "  x[threadIdx.x + 32] = 1.0\n"))
expect("the same line once more is new", "check --baseline=known k.lua",
  "k.lua:3: " .. outside .. " (32 times)\ncheck: 1 finding in 1 launch\n"
  .. "check: 1 finding of the baseline left out\n", 1)
write("k.lua", script("", ""):gsub("1%.0", "2.0"))
expect("a line of another text is new", "check --baseline=known k.lua",
  "k.lua:2: " .. outside .. " (32 times)\ncheck: 1 finding in 1 launch\n"
  .. "check: 1 finding of the baseline did not come again; write it anew\n", 1)
write("two", read "known" .. "CT-RACE-SHARED\tother.lua\ts[0] = 1\n")
write("k.lua", script("", ""))
expect("a baseline of two scripts", "check --baseline=two ./k.lua", left_out, 0)
expect("no such baseline", "check --baseline=nowhere k.lua", "check: --baseline: cannot read "
  .. "nowhere: No such file or directory; cuttle check --write-baseline=nowhere writes it\n", 2)
write("odd", "CT-OUT-OF-BOUNDS k.lua\n")
expect("what is no baseline", "check --baseline=odd k.lua", "check: odd:1: 'CT-OUT-OF-BOUNDS "
  .. "k.lua' is no finding; expected an id, a script and the text of its line, with tabs between\n",
  2)
write("red", "CT-RACE \27[31m\xff" .. ("x"):rep(100) .. "\n")
local out_of_red = run "check --baseline=red k.lua"
tap.ok(out_of_red:find("red:1: 'CT-RACE \\x1b[31m\u{FFFD}xxx", 1, true)
  and out_of_red:find "xxx%.%.%.' is", "control characters stay out of messages", out_of_red)
expect("a baseline that is a folder", "check --baseline=/ k.lua",
  "check: --baseline: cannot read /: Is a directory; cuttle check --write-baseline=/ "
    .. "writes it\n", 2)
local found_in_k = "k.lua:2: " .. outside .. " (32 times)\ncheck: 1 finding in 1 launch\n"
expect("findings are told, although a file cannot be written", "check --sarif=no/where k.lua",
  found_in_k .. "check: cannot write no/where: No such file or directory\n", 1)
write("fine.lua", "")
expect("without findings, that fails", "check --sarif=no/where fine.lua",
  "check: no finding in 0 launches: nothing ran on the CPU engine\n"
    .. "check: cannot write no/where: No such file or directory\n", 2)
expect("two reports in one file", "check --sarif=one --junit=one k.lua",
  "check: two reports go to one; give each a file of its own\n", 2)

-- What a script does to Lua's own library changes nothing in the report.
for _, harm in ipairs { "print, string, table, io, os = nil", "print = function() end",
  "string.format, table.concat, math.floor, io.write = nil", "getmetatable('').__index = nil",
  "setmetatable(string, {__metatable = 1})", "debug.sethook(function() error 'hook' end, '', 1)",
  "debug.setmetatable(nil, {__index = function() return 1 end})", "io.stdout:close()",
  "getmetatable(io.stdout).__index.write = nil" } do
  write("harm.lua", script("", "") .. harm .. "\n")
  local out, code = run "check harm.lua"
  tap.ok(out:find("harm.lua:2: " .. outside, 1, true) and code == 1, "after " .. harm, out)
end
for _, value in ipairs { "nil", "setmetatable({}, {__tostring = function() error 'again' end})",
  "setmetatable({}, {__metatable = 5})" } do
  write("harm.lua", script("", "") .. "error(" .. value .. ")\n")
  local out, code = run "check harm.lua"
  tap.ok(out:find("harm.lua:2: " .. outside, 1, true) and out:find("the error is", 1, true)
    and code == 1, "after error " .. value, out)
end

expect("no file", "check --junit k.lua",
  "check: --junit needs the name of a file, as in --junit=FILE\n", 2)

-- {====== Figures ======

write("g.lua", [[
local k = kernel("column", function(y)
  local s = shared(f32, row_major{32, 32})
  s[{threadIdx.x, 0}] = 1.0
  y[threadIdx.x] = s[{threadIdx.x, 0}]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
print "ran"
]])
local figures = "figures: registers, spills, shared_bytes, conflicts, degree, splits, occupancy, "
  .. "predicted_ms\n"
local gate = "g.lua:3: gate: kernel 'column' has bank conflicts of degree 32, and the gate is "
  .. "degree<=2; swizzle or pad the layout; find_swizzle() searches for one\n"
expect("a gate of check, whose script prints once",
  "check --gate 'degree <= 2, shared_bytes=4096' g.lua",
  "ran\n" .. gate .. "check: 1 finding in 1 launch\n", 1)
expect("gates that are kept", "check --gate='conflicts<=62, splits=0' --gate='degree<33' g.lua",
  "ran\ncheck: no finding in 1 launch\n", 0)
expect("a gate in the baseline", "check --write-baseline=g --gate='degree<=2' g.lua",
  "ran\n" .. gate .. "check: 1 finding in 1 launch\n", 1)
expect("is known", "check --baseline=g --gate='degree<=2' g.lua", "ran\n" .. left_out, 0)
local out, code = run "profile --gate 'degree<=2, degree>=2' g.lua"
tap.ok(code == 1 and out:find(gate .. "gates: 1 of 2 kept, in 1 kernel\n", 1, true), "profile",
  out)
out, code = run "profile --json=g.json --gate 'degree>=2' g.lua"
tap.ok(code == 0 and out == "ran\ng.json\ngates: 1 of 1 kept, in 1 kernel\n"
  and read "g.json":find('"gates":[]', 1, true), "profile, all kept", out)
expect("a figure that is none", "check --gate=conflict=0 g.lua",
  "check: --gate: 'conflict' is no figure; did you mean 'conflicts'? " .. figures, 2)
expect("no limit", "check --gate=registers g.lua", "check: --gate: 'registers' is no gate; "
  .. "expected a figure, one of <= < >= > =, and a number, as in registers<=128; " .. figures, 2)
expect("the same of profile", "profile --gate=x=1 g.lua", "profile: --gate: 'x' is no figure; "
  .. figures, 1)
expect("standard input runs once", "check --gate=spills=0 -",
  "check: --gate runs the script twice, so the script must be a file, not standard input\n", 2)

-- {====== Limits ======

write("slow.lua", "while true do end\n")
expect("a limit of time", "check --seconds=1 slow.lua", "slow.lua:1: interrupted\n"
  .. "check: no finding in 0 launches: nothing ran on the CPU engine\n"
  .. "check: stopped after 1 s (--seconds): there may be more\n", 3)
write("slow.lua", script("", "") .. "while true do end\n")
out, code = run "check --seconds=1 slow.lua"
tap.ok(code == 1 and out:find("stopped after 1 s", 1, true), "findings before the limit", out)
write("large.lua", "error('not enough memory', 0)\n") -- as Lua says it
expect("memory", "check large.lua", "not enough memory\n"
  .. "check: no finding in 0 launches: nothing ran on the CPU engine\n"
  .. "check: memory or a limit ran out, there may be more\n", 3)
expect("seconds", "check --seconds=0 k.lua",
  "check: --seconds=0 is not a number of seconds from 1 to 1073741824\n", 2)

-- {====== Kinds ======

out, code = run "check --explain"
local _, n = ("\n" .. out):gsub("\nCT%-[%u-]+ +%a[^\n]+", "")
tap.ok(code == 0 and n == #require("cuttle.findings").kinds, "all kinds are listed", out)
out, code = run "check --explain=ct-race-shared"
tap.ok(code == 0 and out:find "^CT%-RACE%-SHARED: race in shared memory\n  rule    If two", "one",
  out)
expect("none", "check --explain=CT-RACE-SHARD", "check: --explain=CT-RACE-SHARD: no kind of "
  .. "finding has this id; cuttle check --explain lists them; did you mean 'CT-RACE-SHARED'?\n", 2)
os.execute("rm -r " .. folder)
tap.done()
