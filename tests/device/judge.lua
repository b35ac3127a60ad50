-- judge with the time on a CUDA device: cases run there, too, and the time is measured with new data
-- and a cold cache. Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end

device "cpu" -- references run there
local tasks = dofile "tests/judge/tasks.lua"
local cheats = dofile "tests/judge/cheats.lua"

for i = 1, #tasks.list, 4 do
  local task = tasks.list[i]
  local report = judge(task.right, tasks.prepare(task, { seed = 7, time = "cuda" }))
  local measured = report.measured
  tap.ok(report.ok and measured.ok and measured.ms > 0 and measured.ms < 100, task.name,
    report.verdict, report.message, measured.message)
end

-- One that keeps its first result is timed nowhere.
local task = tasks.list[1]
for i = 1, 6 do
  local name, _, text = cheats.of(i, task.right)
  local report = judge(text, tasks.prepare(task, { seed = 7, time = "cuda" }))
  tap.ok(not report.ok and not report.measured.ms, name, report.verdict)
end

tap.done()
