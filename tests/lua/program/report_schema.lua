-- What commands write with --json is valid by docs/report.schema.json, as a validator that others
-- wrote says, if scripts/deps.sh has installed it. scripts/check_reports.sh takes all of
-- tests/check and tests/fails; here are a few, by the program.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local EVERY <const> = 25 -- script of tests/check

if not os.execute "test -d build/readers/fastjsonschema" then
  tap.skip_all "no validator is installed"
end

local function output_of(command) return (shell.run(command)) end

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

-- {====== Other commands ======

add_command("profile", "profile --json --gate='conflicts<=2, spills=0' examples/sgemm_1.lua")
add_command("profile", "profile --json --sass examples/sgemm_sm80.lua 128 128 128")
add_command("profile", "profile --json examples/wgmma_tma_sm90.lua 256 128 128")
add_command("bench", "bench --json examples/saxpy.lua")
add_command("bench_matmul", "bench matmul --json 32 NT")
add_command("bench_mesh", "bench mesh --json --ranks=2 rows all_gather 16 1K")

local scratch = dofile "tests/support/folder.lua"
scratch.write("reference.lua", [[
return { name = "copy", sizes = { N = { 1, 64 } }, inputs = { { "x", f32, "N" } },
         outputs = { { "y", f32, "N" } },
         reference = function(x, y) for i = 0, size(x) - 1 do y[i] = x[i] end end }
]])
scratch.write("candidate.lua", [[
local k = kernel("copied", function(x, y)
  if threadIdx.x < size(x) then y[threadIdx.x] = x[threadIdx.x] end
end)
return function(x, y) k{grid = 1, block = 64}(x, y) end
]])
scratch.write("outside.lua", [[
local k = kernel("copied", function(x, y) y[threadIdx.x] = x[threadIdx.x] end)
return function(x, y) k{grid = 1, block = 65}(x, y) end
]])
scratch.write("broken.lua", "return nil")
for _, name in ipairs { "candidate", "outside", "broken" } do
  add_command("judge", ("judge --json --seed=1 --reference='%s/reference.lua' '%s/%s.lua'"):format(
    scratch.path, scratch.path, name))
end
scratch.remove()

-- {====== All ======

local out = validated(table.concat(lines))
tap.ok(out:find "^valid: " ~= nil, "reports keep to their schema", out)
out = validated '-\tcheck\t{"findings":[{"id":1}]}\n'
tap.ok(out:find "invalid: 1 reports, 1 wrong" ~= nil, "another report does not", out)
tap.done()
