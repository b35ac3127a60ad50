-- mutate_lowering.lua: breaks the lowering of the CPU engine in one place at a time; a test must
-- notice.
--   lua scripts/mutate_lowering.lua BUILD [--jobs=N] [PATTERN]
-- BUILD has the tests' programs with tests/support/mutants.c in, which says what can be broken;
-- PATTERN (of Lua) chooses among the lines of that. First runs each test, to see which operations
-- and instructions it needs; then for each mutant the tests that need what it breaks, the quick
-- ones first, until one fails. Prints TAP: a mutant that no test notices is "not ok".
local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local tap = dofile "tests/support/tap.lua"
local quote = shell.quote

-- Mutants that nobody can notice, by what mutants.c prints of them, and why.
local equivalent = {
  ["none is not lowered"] = "there is none in a kernel",
  ["var is lowered as const"] = "a VAR is named by GET and SET, and has no value itself",
  ["fma takes its operands the other way round"] = "a*b + c",
  ["min takes its operands the other way round"] = "equal numbers have equal bits, except zeros, "
    .. "of which the negative one is less; of two NaN any is the result",
  ["max takes its operands the other way round"] = "as min",
  ["remote has another immediate"] = "the buffer says which operation turned it",
  ["instruction ELSE is JOIN"] = "they do the same",
  ["instruction JOIN is ELSE"] = "they do the same",
  ["instruction SPLIT is SPLIT_ELSE"] = "it fills a row of masks that nobody reads",
  ["instruction JUMP is AGAIN"] = "a warp that comes there has lanes",
  ["instruction NEXT_SUM_f32 is NEXT"] = "the loop, turn by turn",
  ["instruction LT_m is LE_m"] = "the language does not order booleans",
  ["instruction LE_m is EQ_m"] = "the language does not order booleans",
  ["instruction NARROW is GEMM_f64"] = "which leaves a copy to the form for all tile operations",
  ["instruction SPLAT_4f is SPLAT_4i"] = "the same bytes",
  ["instruction BITCAST_i32_f32 is BITCAST_f32_i32"] = "the bytes of an f32 are all that count",
  ["instruction CAST_i64_b_s is CAST_b_i64_s"] = "a bool is 0 or 1",
  ["instruction CAST_i32_b_s is CAST_b_i32_s"] = "a bool is 0 or 1",
}

local options = { jobs = "2" }
-- A test that takes so long has failed; it must take less than a tenth when nothing is broken.
local TIME_LIMIT_S <const> = 60

-- {====== The tests: quick ones that run kernels on the CPU engine ======

local function lines_of_command(command)
  return shell.lines_of((shell.capture(command)))
end

-- Commands that fail, each where its test does.
local function list_tests(build)
  local commands = {}
  local function add(list, format)
    for _, path in ipairs(lines_of_command(list)) do
      commands[#commands + 1] = format:format(path)
    end
  end
  local limit = ("timeout -k 1 %d "):format(TIME_LIMIT_S)
  local run = (arg[-1] .. " scripts/run_tests.lua --time-limit=%d --cuttle=%s/cuttle %%s"):format(
    TIME_LIMIT_S, build)
  add(("ls %s/test_*"):format(build), limit .. "%s")
  commands[#commands + 1] = ("%s%s/cuttle scripts/kernel_cases.lua tests/kernel_cases"):format(
    limit, build)
  add("ls tests/check/*.lua tests/check/*.faults",
    ("%s%s/cuttle tests/lua/program/check_gallery.lua %%s"):format(limit, build))
  add("ls tests/fails/*.cases", ("%s/states %s"):format(build, run:gsub("^%S+ ", "")))
  for _, folder in ipairs { "kernel", "cpu", "tensor", "tiles", "trace", "dtype", "hopper", "atom",
    "profile", "matmul" } do
    add(("ls tests/lua/%s/*.lua"):format(folder), run)
  end
  add("ls tests/lua/program/check.lua tests/lua/program/check_[!cg]*.lua", run)
  add("ls examples/*.lua", ("%s%s/cuttle tests/lua/program/check_clean.lua %%s"):format(limit,
    build))
  return commands
end

local function run_test(command, environment)
  local _, code = shell.capture(("env CUTTLE_DEVICE=cpu %s %s >/dev/null 2>&1 </dev/null"):format(
    environment, command))
  return code
end

local function now()
  return tonumber(shell.read_file("/proc/uptime"):match("^[%d.]+"))
end

-- {====== Workers: this script again, for one part of the work, its results a line each ======

local function each_part(build, kind, n)
  local pipes = {}
  for i = 1, n do
    pipes[i] = assert(io.popen(("%s %s %s --worker=%s --part=%d --jobs=%d"):format(
      quote(arg[-1]), quote(arg[0]), quote(build), kind, i, n)))
  end
  return coroutine.wrap(function()
    for _, pipe in ipairs(pipes) do
      for line in pipe:lines() do coroutine.yield(line) end
      assert(pipe:close(), "a worker failed")
    end
  end)
end

-- "TEST SECONDS op:3,code:17,..." of each test of the part.
local function record(build, part, n)
  local log = os.tmpname()
  for i, command in ipairs(list_tests(build)) do
    if i % n + 1 == part then
      shell.write_file(log, "")
      local start = now()
      local code = run_test(command, "CUTTLE_MUTANT_LOG=" .. quote(log))
      local seconds, needs, seen = now() - start, {}, {}
      for line in io.lines(log) do
        if not seen[line] then needs[#needs + 1] = line end
        seen[line] = true
      end
      print(("%d %.2f %d %s"):format(i, seconds, code, table.concat(needs, ",")))
    end
  end
  os.remove(log)
end

-- "NUMBER TEST" of each mutant of the part: the test that noticed it, or 0. The work is in a file:
-- a line for each mutant, "KIND N M<tab>text<tab>tests".
local function mutate(build, part, n)
  local commands, number = list_tests(build), 0
  for line in io.lines(build .. "/work") do
    number = number + 1
    if number % n + 1 == part then
      local mutant, tests = line:match("^(.-)\t.*\t(.*)$")
      local noticed = 0
      for test in tests:gmatch("%d+") do
        if run_test(commands[tonumber(test)], "CUTTLE_MUTANT=" .. quote(mutant)) ~= 0 then
          noticed = test
          break
        end
      end
      print(("%d %s"):format(number, noticed))
      io.stdout:flush()
    end
  end
end

-- {====== Choosing ======

local function list_mutants(build, pattern)
  local mutants = {}
  for _, line in ipairs(lines_of_command(("CUTTLE_MUTANT=list %s/cuttle"):format(build))) do
    local what, text = line:match("^(.*)\t(.*)$")
    if not equivalent[text] and line:find(pattern) then
      table.insert(mutants, { what = what, text = text })
    end
  end
  return mutants
end

-- needed_by["op:3"]: the tests that need it, the quick ones first.
local function record_all(build, commands)
  local tests, needed_by = {}, {}
  for line in each_part(build, "record", options.jobs) do
    local i, seconds, code, needs = line:match("^(%d+) (%S+) (%d+) (.*)$")
    if tonumber(seconds) > TIME_LIMIT_S / 10 then
      print("# left out, too slow: " .. commands[tonumber(i)])
    else
      assert(code == "0", commands[tonumber(i)] .. ": fails with nothing broken")
      table.insert(tests, { i = i, seconds = tonumber(seconds), needs = needs })
    end
  end
  table.sort(tests, function(a, b) return a.seconds < b.seconds end)
  for _, test in ipairs(tests) do
    for need in test.needs:gmatch("[^,]+") do
      needed_by[need] = (needed_by[need] or "") .. test.i .. " "
    end
  end
  return needed_by
end

local function give_tests(build, mutants)
  local needed_by = record_all(build, list_tests(build))
  for _, mutant in ipairs(mutants) do
    local kind, row = mutant.what:match("^(%a+) (%d+)")
    local need = (kind == "code" and "code:" or "op:") .. row
    mutant.tests = needed_by[need] or ""
  end
end

local function write_work(build, mutants)
  local lines = {}
  for i, mutant in ipairs(mutants) do
    lines[i] = ("%s\t%s\t%s\n"):format(mutant.what, mutant.text, mutant.tests)
  end
  shell.write_file(build .. "/work", table.concat(lines))
end

local function main(build, pattern)
  local mutants, commands = list_mutants(build, pattern), list_tests(build)
  give_tests(build, mutants)
  write_work(build, mutants)
  for line in each_part(build, "mutate", options.jobs) do
    local number, test = line:match("^(%d+) (%d+)$")
    local mutant = mutants[tonumber(number)]
    local noticed = commands[tonumber(test)]
    local why = mutant.tests == "" and "no test lowers it" or "the tests that lower it all pass"
    tap.ok(noticed ~= nil, ("%s (%s)%s"):format(mutant.text, mutant.what,
      noticed and ": " .. noticed:match("%S*$") or ""), why)
  end
  tap.done()
end

local build, pattern
for _, a in ipairs(arg) do
  local name, value = a:match("^%-%-(%a+)=(.*)$")
  if name then
    options[name] = value
  elseif not build then
    build = a
  else
    pattern = a
  end
end
if options.worker == "record" then
  record(build, tonumber(options.part), tonumber(options.jobs))
elseif options.worker == "mutate" then
  mutate(build, tonumber(options.part), tonumber(options.jobs))
else
  main(assert(build, "which folder?"), pattern or "")
end
