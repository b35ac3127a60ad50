-- What commands write with --json is valid by docs/report.schema.json, as a validator that others
-- wrote says, if scripts/deps.sh has installed it. scripts/check_reports.sh takes all of
-- tests/check and tests/fails; here are a few, by the program.
local tap = dofile "tests/support/tap.lua"
local cuttle = arg[-1]
local EVERY <const> = 25 -- script of tests/check

if not os.execute "test -d build/readers/fastjsonschema" then
  tap.skip_all "no validator is installed"
end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

local lines = {}

local function add(name, definition, json)
  lines[#lines + 1] = ("%s\t%s\t%s\n"):format(name, definition, (json:gsub("\n", "")))
end

local function add_command(definition, arguments)
  add(arguments, definition, output_of(("'%s' %s 2>/dev/null </dev/null"):format(cuttle,
    arguments)))
end

local function validated(text)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:flush()
  local out = output_of("PYTHONPATH=build/readers python3 tests/support/validate_reports.py <"
    .. path .. " 2>&1")
  os.remove(path)
  return out
end

-- {====== check ======

local n = 0
for path in output_of "ls tests/check/*.lua":gmatch "%S+" do
  n = n + 1
  if n % EVERY == 1 then add_command("check", "check --json " .. path) end
end
for _, options in ipairs { "--schedules=4", "--needless", "--overflow --nan",
                           "--gate='conflicts<=2'" } do
  add_command("check", "check --json " .. options .. " examples/saxpy.lua")
end
-- A script that takes the methods of strings away.
add("strings", "check", output_of(([[echo 'debug.setmetatable("", nil) error "x.lua:1: no"' | '%s' \
  check --json - 2>/dev/null]]):format(cuttle)))

-- {====== All ======

local out = validated(table.concat(lines))
tap.ok(out:find "^valid: " ~= nil, "reports keep to their schema", out)
out = validated '-\tcheck\t{"findings":[{"id":1}]}\n'
tap.ok(out:find "invalid: 1 reports, 1 wrong" ~= nil, "another report does not", out)
tap.done()
