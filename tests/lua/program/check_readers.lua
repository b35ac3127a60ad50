-- What `cuttle check` writes for other programs, read by programs that others wrote: SARIF is
-- valid by its schema, and sarif-tools finds each finding at its line; junitparser counts tests.
-- scripts/deps.sh installs them; without them it is skipped.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local READERS <const> = "build/readers"

local function succeeds(command, ...) return os.execute(command:format(...)) == true end
if not succeeds("test -f %s/readers.txt", READERS) then
  tap.skip_all "nothing that reads SARIF is installed here"
end

local quote = shell.quote

local write = shell.write_file

local read = shell.read_file

local folder = os.tmpname()
os.remove(folder)
assert(succeeds("mkdir %s", folder))

-- A race, two accesses outside on one line, and what formats find hard: a tab, quotes, "<", "&" and
-- a byte that is no UTF-8.
write(folder .. "/a script.lua", [[
local k = kernel("reverse", function(x, y)
  local s = shared(f32, 64)
	s[threadIdx.x] = x[threadIdx.x] -- "<&>" ]] .. "\xff" .. [[

  y[threadIdx.x] = s[63 - threadIdx.x]
  y[threadIdx.x + 64] = 1.0
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
error("<stop & \"go\"" .. "\xff" .. ">")
]])
write(folder .. "/right.lua",
  "kernel('k', function(x) x[threadIdx.x] = 1 end){grid = 1, block = 32}(zeros(f32, 32))\n")

local function check(options, script)
  return succeeds("cd %s && %s check %s %s >out 2>&1", folder, quote(cuttle), options,
    quote(script))
end

local here = assert(io.popen "pwd"):read "l"
if not cuttle:find "^/" then cuttle = here .. "/" .. cuttle end
check("--sarif=a.sarif --junit=a.xml --write-baseline=a.base", "a script.lua")
check("--sarif=known.sarif --junit=known.xml --baseline=a.base", "a script.lua")
check("--sarif=right.sarif --junit=right.xml", "right.lua")
write(folder .. "/broken.sarif", (read(folder .. "/a.sarif"):gsub('"ruleId"', '"rule"')))

local list = { "sarif=a.sarif", "sarif=known.sarif", "sarif=right.sarif", "sarif=broken.sarif",
               "junit=a.xml", "junit=known.xml", "junit=right.xml" }
local function read_by_others(files)
  return (shell.run("cd %s && PYTHONPATH=%s/%s python3 "
    .. "%s/tests/support/read_reports.py %s/%s/sarif-2.1.0.json %s", folder, here, READERS, here,
    here, READERS, table.concat(files, " ")))
end

local got = read_by_others(list)
local n = #require("cuttle.findings").kinds + 2
local race = "race: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), and write by "
  .. "thread (63,0,0) at line 3 are not ordered; put sync_threads() between line 3 and line 4"
local outside = "out of bounds: write of y at 64, extent 64, by thread (0,0,0) of block (0,0,0)"
local stop = 'a script.lua:8: <stop & "go"\u{FFFD}>'
-- What is only looked for if asked, in the order of the table.
local skipped = {
  "Skipped CT-NAN only with --nan", "Skipped CT-OVERFLOW only with --overflow",
  "Skipped CT-COOPERATIVE-GRID only with --on", "Skipped CT-GATE only with --gate",
}
local skips = table.concat(skipped, "\n")
local counts = "tests %d, failures %d, errors %d, skipped %d"
local function lines(...) return table.concat({ ... }, "\n") .. "\n" end
local two = lines("valid", "error CT-RACE-SHARED a%20script.lua 4",
  "error CT-OUT-OF-BOUNDS a%20script.lua 5")
local parts = { two, two, lines "valid", "invalid: data" }
local rest = got
for i, part in ipairs(parts) do
  local is_there = rest:sub(1, #part) == part
  tap.ok(is_there, list[i], ("expected\n%s\ngot\n%s"):format(part, rest))
  rest = is_there and rest:sub(#part + 1) or rest
end
rest = rest:gsub("^[^\n]*\n", "") -- the rest of the schema's message
tap.is(rest, lines(counts:format(n, 2, 1, #skipped),
  ("suite cuttle check a script.lua %d"):format(n),
  "Failure CT-OUT-OF-BOUNDS a script.lua:5: " .. outside,
  "Failure CT-RACE-SHARED a script.lua:4: " .. race,
  skips,
  "Error script " .. stop,
  counts:format(n, 0, 1, #skipped), ("suite cuttle check a script.lua %d"):format(n),
  skips,
  "Error script " .. stop,
  counts:format(n, 0, 0, #skipped), ("suite cuttle check right.lua %d"):format(n),
  skips), "JUnit")
local known = read(folder .. "/known.sarif")
local _, n_unchanged = known:gsub('"baselineState":"unchanged"', "")
local _, n_suppressed = known:gsub('"kind":"external"', "")
tap.ok(n_unchanged == 2 and n_suppressed == 2 and not known:find('"new"', 1, true),
  "findings of the baseline are unchanged, and suppressed", known)

-- The step of examples/check_workflow.yml, with Cuttle where the step before it installs it.
assert(succeeds("cd %s && mkdir -p kernels home/.local/bin && ln -s %s home/.local/bin/cuttle "
  .. "&& mv 'a script.lua' kernels/wrong.lua && mv right.lua kernels/ && : >known.txt", folder,
  quote(cuttle)))
local workflow = "workflow=" .. here .. "/examples/check_workflow.yml"
write(folder .. "/step.sh", read_by_others { workflow })
local run_step = "cd " .. folder .. " && HOME=$PWD/home bash -e step.sh >/dev/null 2>&1"
local _, _, code = os.execute(run_step)
tap.is(code, 1, "the workflow fails")
tap.is(read_by_others { "sarif=reports/right.sarif", "sarif=reports/wrong.sarif" },
  "valid\n" .. two:gsub("a%%20script", "kernels/wrong"), "and has reports of both scripts")
succeeds("rm %s/kernels/wrong.lua", folder)
tap.ok(succeeds("%s", run_step), "without the wrong one it passes")
succeeds("rm -r %s", folder)
tap.done()
