-- judge on candidates that try to pass without doing the work, or to harm who judges them: each
-- with one of the tasks of tests/judge, in turn. None passes, and each fails for its own reason.
local tap = dofile "tests/support/tap.lua"
local tasks = dofile "tests/judge/tasks.lua"
local cheats = dofile "tests/judge/cheats.lua"

local function printed(f)
  local before, out = print, {}
  print = function(...) out[#out + 1] = table.concat({ ... }, " ") end -- luacheck: ignore 121
  local result = f()
  print = before -- luacheck: ignore 121
  return result, table.concat(out, "\n")
end

for i = 1, math.max(cheats.n, #tasks.list) do
  local task = tasks.list[(i - 1) % #tasks.list + 1]
  local name, want, text = cheats.of(i, task.right)
  local prepared = tasks.prepare(task, { seed = 7, predict = want == "does_not_fit",
    compile = false, cases = 3, orders = 2, seconds = want == "time" and 0.2 or 60,
    mib = want == "does_not_fit" and 1024 or 128 })
  local report, out = printed(function() return judge(text, prepared) end)
  tap.ok(report.verdict == want and not report.ok and out == "",
    ("%s: %s"):format(name, task.name), report.verdict, report.message, out, text)
end

-- What the candidates did to their states did nothing to this one.
tap.ok(("%d"):format(7) == "7" and allclose(ones(f32, 2), ones(f32, 2)) and math.max(1, 2) == 2
  and not pcall(error), "this state is as it was")
local task = tasks.list[1]
tap.ok(judge(task.right, tasks.prepare(task, { seed = 7, compile = false })).ok,
  "a right candidate still passes")

tap.done()
