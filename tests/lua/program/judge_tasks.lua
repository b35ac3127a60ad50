-- judge on the tasks of tests/judge: of each, a right candidate, one with a wrong value, one with a
-- race and one with an access outside. About 4 s of one core.
local tap = dofile "tests/support/tap.lua"
local tasks = dofile "tests/judge/tasks.lua"
local texts = dofile "tests/judge/texts.lua"

local kinds <const> = { { "right", "pass" }, { "wrong", "wrong" }, { "race", "unclean" },
  { "outside", "out_of_bounds" } }

for _, task in ipairs(tasks.list) do
  local prepared = tasks.prepare(task, { seed = 7, compile = false, cases = 5, orders = 2 })
  for _, kind in ipairs(kinds) do
    local name, want = kind[1], kind[2]
    local text = name == "right" and task.right or texts.edited(task.right, task[name])
    local report = judge(text, prepared)
    tap.ok(report.verdict == want and report.ok == (want == "pass")
      and (not report.ok or report.predicted.ms > 0 and report.fits.ok),
      ("%s, %s"):format(task.name, name), report.verdict, report.message, text)
  end
end

tap.done()
