-- judge_tasks.lua: the tasks of tests/judge as texts, for judge_turns.py: for each a right
-- candidate, three wrong ones and one that cheats. Prints {name, want, candidate, reference} as a
-- line of JSON for each.
--   cuttle scripts/bench/judge_tasks.lua
local json = require "cuttle.json"
local tasks = dofile "tests/judge/tasks.lua"
local texts = dofile "tests/judge/texts.lua"
local cheats = dofile "tests/judge/cheats.lua"

local files <const> = { "elementwise", "rows", "moves", "products", "windows", "counts" }
local kinds <const> = { { "right", "pass" }, { "wrong", "wrong" }, { "race", "unclean" },
  { "outside", "out_of_bounds" } }

local read <const> = dofile "scripts/shell.lua".read_file

-- The source of the i-th task of a file of tests/judge; in a sandbox there is no dofile.
local function reference_of(name, i)
  return ([[
local texts = (function() %s end)()
local function dofile() return texts end -- luacheck: ignore
local task = (function() %s end)()[%d]
return { name = task.name, sizes = task.sizes, inputs = task.inputs, outputs = task.outputs,
         reference = task.reference }]]):format(read "tests/judge/texts.lua",
    read(("tests/judge/%s.lua"):format(name)), i)
end

local n = 0

local function print_task(task, reference)
  local function put(kind, want, candidate)
    print(json.encode_line { name = ("%s, %s"):format(task.name, kind), want = want,
      candidate = candidate, reference = reference })
  end
  for _, kind in ipairs(kinds) do
    put(kind[1], kind[2], kind[1] == "right" and task.right
      or texts.edited(task.right, task[kind[1]]))
  end
  -- Those that a limit of the process stops come in their turn, as the others do.
  n = n + 1
  local name, want, text = cheats.of((n - 1) % cheats.n + 1, task.right)
  put("cheat: " .. name, want, text)
end

local at = 0
for _, name in ipairs(files) do
  for i = 1, #dofile(("tests/judge/%s.lua"):format(name)) do
    at = at + 1
    print_task(tasks.list[at], reference_of(name, i))
  end
end
