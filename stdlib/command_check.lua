-- command_check.lua: `cuttle check [--nan] [--json] script.lua [arguments]`: runs the script on the
-- CPU engine and reports what its launches do wrong. Exit code 0: nothing; 1: something; 2:
-- nothing, but the script failed.
local ct = require "cuttle"
local check = require "cuttle.check"
local json = require "cuttle.json"

local USAGE <const> = "usage: cuttle check [--nan] [--json] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine, whatever the device, and reports what its kernels do\n"
  .. "wrong: accesses out of bounds, reads of shared memory and registers that nobody wrote,\n"
  .. "races within a block and between blocks, asynchronous copies used before their wait,\n"
  .. "barriers that not all threads reach, deadlocks, misaligned vectors, offsets that do not fit\n"
  .. "in 32 bits.\n"
  .. "\n"
  .. "  --nan                 also NaN and infinities that come of finite operands\n"
  .. "  --json                the report as JSON; what the script prints goes to standard error\n"
  .. "\n"
  .. "Exit code 0: no finding; 1: findings; 2: no finding, but the script itself failed."

local FINDINGS <const>, FAILED <const> = 1, 2

local function fail(format, ...)
  error(("check: %s"):format(format:format(...)), 0)
end

local function read_arguments(...)
  local args, options, at = table.pack(...), {}, 1
  while args[at] and args[at]:find("^%-%-?%a") do
    local name = args[at]:match("^%-%-(%a+)$")
    if name ~= "nan" and name ~= "json" and name ~= "help" then
      fail("unknown option %s; see cuttle check --help", args[at])
    end
    options[name] = true
    at = at + 1
  end
  options.script = args[at]
  return options, table.move(args, at + 1, args.n, 1, {})
end

-- The script ends where it calls os.exit, but the program does not.
local exit = os.exit
local left = setmetatable({}, { __name = "exit" })

local function replace_exit()
  os.exit = function(code) -- luacheck: ignore 122
    left.code = code == nil and 0 or code == true and 0 or code == false and 1 or code
    error(left, 0)
  end
end

local function print_aside(...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  io.stderr:write(table.concat(texts, "\t"), "\n")
end

local function run(options, args)
  local script, message = loadfile(options.script)
  if not script then
    io.stderr:write("cuttle: ", message, "\n")
    exit(FAILED, true)
  end
  rawset(_G, "arg", table.move(args, 1, #args, 1, { [0] = options.script }))
  replace_exit()
  if options.json then
    rawset(_G, "print", print_aside)
    io.output(io.stderr)
  end
  local findings, launches, ok, what = check.run(script, options, table.unpack(args))
  io.stdout:flush()
  if not ok and what ~= left then io.stderr:write(tostring(what), "\n") end
  return findings, launches, ok or (what == left and left.code == 0)
end

return function(...)
  local options, args = read_arguments(...)
  if options.help then
    print(USAGE)
    return
  end
  if not options.script then
    fail("a script was expected; see cuttle check --help")
  end
  ct._choose_cpu()
  local findings, launches, ok = run(options, args)
  if options.json then
    io.stdout:write(json.encode { findings = findings, launches = launches, failed = not ok }, "\n")
  else
    print(check.report(findings, launches))
  end
  exit(#findings > 0 and FINDINGS or ok and 0 or FAILED, true)
end
