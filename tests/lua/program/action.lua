-- The GitHub Action in scripts/packaging is YAML, and the commands of its step run here in a folder
-- with a race and a right script, with the shell and the environment that a hosted runner gives.
-- What they write is SARIF. check_readers.lua runs the workflow in examples.
local json = require "cuttle.json"
local tap = dofile "tests/support/tap.lua"
local scratch = dofile "tests/support/folder.lua"
local READERS <const> = "build/readers"

if not os.execute(("test -f %s/readers.txt"):format(READERS)) then
  tap.skip_all "nothing that reads YAML and SARIF is installed here"
end

local cuttle = scratch.absolute(arg[-1])
local readers = scratch.absolute(READERS)

local function yaml_of(path)
  local pipe <close> = assert(io.popen(("PYTHONPATH=%s python3 -c 'import json, sys, yaml; "
    .. "json.dump(yaml.load(sys.stdin, yaml.BaseLoader), sys.stdout)' <%s"):format(READERS, path)))
  return json.decode(pipe:read "a")
end

-- {====== The folder ======

assert(os.execute(("mkdir '%s/kernels'"):format(scratch.path)))
scratch.write("kernels/race.lua", [[
kernel("k", function(x)
  local s = shared(f32, 64)
  s[threadIdx.x] = 1.0
  x[threadIdx.x] = s[63 - threadIdx.x]
end){grid = 1, block = 64}(zeros(f32, 64))
]])
scratch.write("kernels/right.lua",
  "kernel('k', function(x) x[threadIdx.x] = 1.0 end){grid = 1, block = 64}(zeros(f32, 64))\n")

-- The text of a step with the values of `inputs` in the place of ${{ inputs.NAME }}.
local function filled_in(text, inputs)
  return (text:gsub("%${{ inputs%.([%w_]+) }}", inputs))
end

-- Runs the commands of a step as a runner does: its output and the exit code.
local function run_step(step, inputs)
  scratch.write("step.sh", filled_in(step.run, inputs))
  scratch.write("github_output", "")
  local names = { ("GITHUB_OUTPUT='%s/github_output'"):format(scratch.path) }
  for name, value in pairs(step.env or {}) do
    names[#names + 1] = ("%s='%s'"):format(name, filled_in(value, inputs))
  end
  return scratch.run(("env %s bash --noprofile --norc -eo pipefail step.sh"):format(
    table.concat(names, " ")))
end

-- What other programs read of the reports: the lines of their findings.
local function read_reports(files)
  return scratch.run(("PYTHONPATH=%s python3 '%s' %s/sarif-2.1.0.json %s"):format(readers,
    scratch.absolute "tests/support/read_reports.py", readers, files))
end

-- {====== The action ======

local action = yaml_of "scripts/packaging/action.yml"
tap.is(action.runs.using, "composite", "the action has steps")
tap.is(action.inputs.scripts.required, "true", "scripts must be given")
local step = action.runs.steps[1]
tap.is(step.shell, "bash", "each step of an action names its shell")
tap.is(action.outputs.sarif.value, ("${{ steps.%s.outputs.sarif }}"):format(step.id),
  "the output is that of the step")
for name in step.run:gmatch "%$([A-Z]+)" do
  tap.ok(step.env[name] or name == "GITHUB", "the step has " .. name)
end

local function inputs_of(scripts)
  local inputs = { scripts = scripts, cuttle = cuttle }
  for name, input in pairs(action.inputs) do inputs[name] = inputs[name] or input.default end
  return inputs
end

local said, code = run_step(step, inputs_of "kernels/*.lua")
tap.ok(code == 1 and said:find("kernels/race.lua:4: race: ", 1, true), "a finding fails the job",
  said)
local folder = scratch.read("github_output"):match "^sarif=(/[^\n]+)\n$"
tap.ok(folder, "the folder of the reports is an output", scratch.read "github_output")
local got = read_reports(("sarif=%s/1.sarif sarif=%s/2.sarif"):format(folder, folder))
tap.ok(got:find "kernels/race.lua" and got:find "CT%-RACE%-SHARED" and not got:find "invalid",
  "the reports are SARIF", got)
os.execute(("rm -r '%s'"):format(folder))
said, code = run_step(step, inputs_of "kernels/right.lua")
tap.ok(code == 0 and said:find("no finding", 1, true), "without a finding it passes", said)
os.execute(("rm -r '%s'"):format(scratch.read("github_output"):match "=(/[^\n]+)"))
said, code = run_step(step, inputs_of "none/*.lua")
tap.ok(code == 1 and said:find("none/*.lua", 1, true), "without a script it fails", said)
os.execute(("rm -r '%s'"):format(scratch.read("github_output"):match "=(/[^\n]+)"))

scratch.remove()
tap.done()
