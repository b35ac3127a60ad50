-- run_tests.lua: runs test programs written in Lua and reports in TAP, for `prove`.
--   lua scripts/run_tests.lua [--cuttle=PATH] [--device=cpu|cuda] [--time-limit=SECONDS]
--     [--by-status|--update|--processes] [--platform=NAME] [--arguments=TEXT] PATH...
-- What a program must do is written in it:
--   print(size(L))       -- expect: 32          this line of output; all of stdout, in order
--   tile(A, {1, 2, 3})   -- expect error: TEXT  fails here: FILE:LINE: TEXT on stderr, exit code 1;
--                                               a TEXT that ends in "..." is the beginning of it
-- With a comment in a line of its own
--   -- expect on stderr: TEXT
-- a program may say such a line there, which else is a failure.
-- A program NAME.lua beside a file NAME.out must print what that holds (--update writes it anew).
-- A file NAME.cases is a table of short programs that state what they must do; each begins with
--   --- NAME            its name; "NAME.lua" is what messages call it
--   --- NAME (program)  the same, for one that the real program runs always
-- and goes to the next such line. With --update a case that fails gets the message that it gives.
-- Run by build/tests/support/states, cases take no process: each runs in a state of its own.
-- Any other program prints TAP itself. With --by-status a program only has to exit with 0: so run
-- the examples, which stop with an error when what they compute is wrong. On the CPU engine `bench`
-- then calls its function once: times there say nothing.
-- With --arguments=TEXT programs get these words as arguments.
-- With --platform=NAME those that scripts/platforms/skips.lua names are skipped, with its reason.
-- Where there are no processes, states run all cases, and --processes runs elsewhere what they
-- cannot: the second run of cases marked (program), by the real program.
-- With --device=cuda every program is skipped, and counted, where there is no CUDA device, and one
-- that says in a line of its own
--   -- needs sm_80
-- where the device has no such instructions; sm_90a: those of that compute capability only.

local run_in_state <const> = rawget(_G, "run_in_state") -- of tests/support/states.c

local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local cases = dofile(arg[0]:match("^.*/") .. "cases.lua")
local skip_reasons = dofile(arg[0]:match("^.*/") .. "platforms/skips.lua")
local lines_of, quote = shell.lines_of, shell.quote

local options = { cuttle = "./build/cuttle", device = "cpu", ["time-limit"] = "900",
  platform = "none", arguments = "" }
local n_run, n_failed = 0, 0

-- {====== Running programs ======

-- Runs the program with `arguments` (shell text): its stdout and stderr as lines, its exit code.
local function run_cuttle(arguments)
  local err_path = os.tmpname()
  local out, code = shell.capture(("CUTTLE_DEVICE=%s %s%s %s 2>%s </dev/null"):format(
    quote(options.device), shell.time_limit(options["time-limit"]),
    quote(options.cuttle), arguments, quote(err_path)))
  local err = shell.read_file(err_path)
  os.remove(err_path)
  return { out = lines_of(out), err = lines_of(err), code = code }
end

-- The same for a text. Messages name it as `name`, not as the file that it is put into.
local function run_text(text, name)
  local path = os.tmpname()
  shell.write_file(path, text)
  local result = run_cuttle(quote(path))
  os.remove(path)
  for i, line in ipairs(result.err) do
    result.err[i] = shell.replace(line, path, name)
  end
  return result
end

-- The same in this process; only where states.c lends us run_in_state.
local function run_text_here(text, name)
  local out, err, code = run_in_state(text, name, tonumber(options["time-limit"]))
  return { out = lines_of(out), err = lines_of(err), code = code }
end

-- {====== TAP ======

local function diag(text)
  for _, line in ipairs(lines_of(text)) do
    print("#   " .. line)
  end
end

-- One result. `problems` is a list of texts: none means passed.
local function report(name, problems)
  n_run = n_run + 1
  if #problems > 0 then
    n_failed = n_failed + 1
  end
  print(("%sok %d - %s"):format(#problems > 0 and "not " or "", n_run, name))
  for _, problem in ipairs(problems) do
    diag(problem)
  end
end

local function report_skip(name, why)
  n_run = n_run + 1
  print(("ok %d - %s # skip %s"):format(n_run, name, why))
end

-- {====== Expectations ======

-- {output = {{line, text}...}, failure = {line, text} or nil}
local function read_expectations(program, path)
  local expected = { output = {} }
  for number, line in ipairs(lines_of(program)) do
    local text = line:match("%-%- expect: ?(.-)%s*$")
    if text then
      table.insert(expected.output, { line = number, text = text })
    end
    expected.note = line:match("^%-%- expect on stderr: (.-)%s*$") or expected.note
    local message = line:match("%-%- expect error: (.-)%s*$")
    if message then
      assert(not expected.failure, path .. ": a program fails once")
      expected.failure = { line = number, text = message }
    end
  end
  return expected
end

local function fits(got, want)
  local start = want:match("^(.*)%.%.%.$")
  return got == want or (start ~= nil and got:sub(1, #start) == start)
end

local function add(problems, format, ...)
  problems[#problems + 1] = format:format(...)
end

local function check_output(expected, got, problems)
  for i = 1, math.max(#expected, #got) do
    local want = expected[i]
    if not want then
      add(problems, "unexpected output: %s", got[i])
    elseif not got[i] then
      add(problems, "line %d: missing output: %s", want.line, want.text)
    elseif got[i]:gsub("%s+$", "") ~= want.text then
      add(problems, "line %d\n     got: %s\nexpected: %s", want.line, got[i], want.text)
    end
  end
end

-- The message stands on stderr as "FILE:LINE: TEXT", after the program's name or alone.
local function check_failure(path, failure, result, problems)
  local want = ("%s:%d: %s"):format(path, failure.line, failure.text)
  for _, line in ipairs(result.err) do
    if fits(line, want) or fits(line:gsub("^[%w_./-]+: ", "", 1), want) then
      return
    end
  end
  add(problems, "expected error: %s", want)
  add(problems, "     got: %s", #result.err > 0 and table.concat(result.err, "\n") or "nothing")
end

local function check_status(result, want, problems)
  if result.code ~= want then
    add(problems, "exit code %s instead of %d%s", result.code, want,
      result.code == 124 and " (out of time)" or "")
  end
end

-- `note`: a line that it may say, or nil.
local function check_silent(result, problems, note)
  for _, line in ipairs(result.err) do
    if not (note and fits(line, note)) then
      add(problems, "on stderr:\n%s", table.concat(result.err, "\n"))
      return
    end
  end
end

-- {====== Kinds of programs ======

-- What the result of the program, called `path` by messages, lacks of what it states.
local function problems_of(path, expected, result)
  local problems = {}
  check_output(expected.output, result.out, problems)
  if expected.failure then
    check_failure(path, expected.failure, result, problems)
    check_status(result, 1, problems)
  else
    check_silent(result, problems)
    check_status(result, 0, problems)
  end
  return problems
end

local function write_golden(path, golden, result)
  local problems = {}
  check_silent(result, problems)
  check_status(result, 0, problems)
  if #problems == 0 then
    shell.write_file(golden, table.concat(result.out, "\n") .. "\n")
  end
  report(path .. " wrote " .. golden, problems)
end

local function run_golden(path, golden, result)
  local problems, want = {}, lines_of(shell.read_file(golden))
  check_silent(result, problems)
  check_status(result, 0, problems)
  for i = 1, math.max(#want, #result.out) do
    if want[i] ~= result.out[i] then
      add(problems, "%s:%d: first difference\n     got: %s\nexpected: %s", golden, i,
        result.out[i] or "(end)", want[i] or "(end)")
      break
    end
  end
  report(path, problems)
end

local function run_by_status(path, expected, result)
  local problems = {}
  check_status(result, 0, problems)
  check_silent(result, problems, expected.note)
  if #problems > 0 then
    add(problems, "its output:\n%s", table.concat(result.out, "\n"))
  end
  report(path, problems)
  if #problems == 0 then
    diag(table.concat(result.out, "\n"))
  end
end

-- Why a program that prints such a line cannot run on this machine; nil: it is another line.
local function skip_reason(line)
  return line:match("^1%.%.0 # [Ss][Kk][Ii][Pp] (.*)$")
end

-- A program that asked for a process where there are none can only be judged as far as it came.
local function lacks_processes(result)
  return table.concat(result.err, "\n"):find("'popen' not supported", 1, true) ~= nil
end

local function run_without_processes(path, expected, result)
  local problems = {}
  for i, got in ipairs(result.out) do
    local want = expected.output[i]
    if want and got:gsub("%s+$", "") ~= want.text then
      add(problems, "line %d\n     got: %s\nexpected: %s", want.line, got, want.text)
    end
    if got:match("^not ok") then
      add(problems, "%s", got)
    end
  end
  if #problems > 0 then
    return report(path, problems)
  end
  report_skip(path, "it starts a process, which this program cannot; right until there")
end

-- Passes the program's own TAP on, renumbered; it must fit its plan and exit with 0.
local function run_tap(path, result)
  local plan, n, problems = nil, 0, {}
  for _, line in ipairs(result.out) do
    local status, rest = line:match("^(n?o?t? ?ok)%s*%d*%s*(.*)$")
    if status == "ok" or status == "not ok" then
      n, n_run = n + 1, n_run + 1
      n_failed = n_failed + (status == "ok" and 0 or 1)
      print(("%s %d - %s: %s"):format(status, n_run, path, (rest:gsub("^%- ", ""))))
    elseif line:match("^1%.%.%d+") then
      plan = line
    else
      print(line)
    end
  end
  if not plan then
    add(problems, "states no expectation and prints no TAP plan")
  elseif plan ~= "1.." .. n then
    add(problems, "plan %s, but %d results", plan, n)
  end
  check_silent(result, problems)
  check_status(result, 0, problems)
  report(path .. " ran to its end", problems)
end

-- Why the device cannot run this program, or nil. `sm` is its compute capability, or nil of a CPU.
local function lacks(path, sm)
  local number, only = shell.read_file(path):match("\n%-%- needs sm_(%d+)(a?)%s*\n")
  local needed = sm and tonumber(number)
  if not needed or sm == needed or (sm > needed and only == "") then return nil end
  return ("needs sm_%d%s, the device is sm_%d"):format(needed, only, sm)
end

-- {====== Tables of cases ======

-- The case's text with the message that it gives in place of the one that it expects; nil, where
-- it does not fail at a line of its own.
local function with_message(case, result)
  local lines = lines_of(case.text)
  for _, message in ipairs(result.err) do
    local at, text = message:match("^" .. case.name .. "%.lua:(%d+): (.*)$")
    if at then
      for i, line in ipairs(lines) do
        lines[i] = line:gsub("%s*%-%- expect error: .*$", "")
      end
      lines[tonumber(at)] = lines[tonumber(at)] .. " -- expect error: " .. text
      return table.concat(lines, "\n") .. "\n"
    end
  end
end

local function run_case(path, case, run)
  local name = case.name .. ".lua"
  local expected, result = read_expectations(case.text, name), run(case.text, name)
  local problems = problems_of(name, expected, result)
  if not expected.failure and #expected.output == 0 then
    add(problems, "it states no expectation: '-- expect error: TEXT', or ask for it by --update")
  end
  local updated = options.update and #problems > 0 and with_message(case, result)
  if updated then
    case.text, problems = updated, problems_of(name, read_expectations(updated, name), result)
  end
  report(("%s:%d: %s"):format(path, case.line, case.name), problems)
end

-- Whether io.popen works; it raises an error where it does not.
local has_processes = pcall(function() io.popen("true"):close() end)

local function run_both_ways(path, case)
  local why = skip_reasons(options.platform, path .. ":" .. case.name)
  if why then
    return report_skip(("%s:%d: %s"):format(path, case.line, case.name), why)
  end
  if not options.processes then
    run_case(path, case, run_in_state and run_text_here or run_text)
  end
  if case.by_program and (options.processes or (run_in_state and has_processes)) then
    run_case(path, case, run_text)
  end
end

local function run_table(path)
  local read = cases.read(path)
  for _, case in ipairs(read) do
    run_both_ways(path, case)
  end
  if options.update then
    cases.write(path, read)
  end
end

-- {====== Main ======

local ONCE <const> = "-e 'dofile \"tests/support/once.lua\"' "

local function run_test(path)
  if path:match("%.cases$") then
    return run_table(path)
  end
  local expected = read_expectations(shell.read_file(path), path)
  local once = options.by_status and options.device == "cpu" and ONCE or ""
  local result = run_cuttle(once .. quote(path) .. " " .. options.arguments)
  local golden = path:gsub("%.lua$", ".out")
  local why = result.code == 0 and skip_reason(result.out[1] or "")
  if why then
    report_skip(path, why)
  elseif options.platform ~= "none" and lacks_processes(result) then
    run_without_processes(path, expected, result)
  elseif options.by_status then
    run_by_status(path, expected, result)
  elseif options.update then
    write_golden(path, golden, result)
  elseif shell.exists(golden) then
    run_golden(path, golden, result)
  elseif expected.failure or #expected.output > 0 then
    report(path, problems_of(path, expected, result))
  else
    run_tap(path, result)
  end
end

-- Files as they are given; what is in folders, in order.
local function programs_under(paths)
  local quoted, n_files = {}, 0
  for _, path in ipairs(paths) do
    n_files = n_files + (path:match("%.lua$") and 1 or path:match("%.cases$") and 1 or 0)
  end
  if n_files == #paths then
    return paths
  end
  for i, path in ipairs(paths) do
    quoted[i] = quote(path)
  end
  return lines_of((shell.capture(
    "find " .. table.concat(quoted, " ") .. " -name '*.lua' -o -name '*.cases' | LC_ALL=C sort")))
end

local function read_arguments(args)
  local paths = {}
  for _, arg in ipairs(args) do
    local name, value = arg:match("^%-%-(%w[%w-]*)=?(.*)$")
    if not name then
      paths[#paths + 1] = arg
    elseif name == "by-status" or name == "update" or name == "processes" then
      options[name:gsub("-", "_")] = true
    elseif options[name] and value ~= "" then
      options[name] = value
    else
      error("unknown option " .. arg, 0)
    end
  end
  assert(#paths > 0, "which folder?")
  return paths
end

-- Why this machine cannot run the programs, or nil; and its device's compute capability, if any.
local function look_at_device()
  if options.device == "cpu" then
    return nil
  end
  local result = run_cuttle("-e 'print(device().sm)'")
  local why = result.code ~= 0 and (result.err[1] or "no " .. options.device .. " device") or nil
  return why, tonumber(result.out[1])
end

local function main(...)
  local paths = programs_under(read_arguments { ... })
  local missing, sm = look_at_device()
  for _, path in ipairs(paths) do
    local why = missing or skip_reasons(options.platform, path) or lacks(path, sm)
    if why then
      report_skip(path, why)
    else
      run_test(path)
    end
  end
  print("1.." .. n_run)
  os.exit(n_failed == 0)
end

main(...)
