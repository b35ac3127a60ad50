-- What a script does to the library's modules changes no report: it replaces all their functions and
-- tables, and what package.loaded and package.preload say of them.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local folder, program = shell.folder(), shell.quote(shell.program)

local LAUNCH <const> = [[
local k = kernel("race", function(x) x[threadIdx.x] = x[0] + 1 end)
k{grid = 1, block = 32}(zeros(f32, 32))
]]

local HARM <const> = [[
local preload, words = package.preload, {"command_", "meta", "%.css$", "%.js$", "%.html$"}
local function is_harmed(name)
  for _, word in ipairs(words) do if name:find(word) then return false end end
  return name:find "^cuttle%." ~= nil
end
for name in pairs(preload) do
  local ok, m = pcall(is_harmed(name) and require or error, name)
  for field, value in pairs(ok and type(m) == "table" and m or {}) do
    if type(value) == "function" then m[field] = function() return {} end end
    if type(value) == "table" then m[field] = {} end
    if type(value) == "string" then m[field] = "" end
  end
  if ok then package.loaded[name] = {} end
  preload[name] = function() return {} end
end
]]

shell.write_file(folder .. "/k.lua", LAUNCH)
shell.run("mkdir " .. folder .. "/harm")
shell.write_file(folder .. "/harm/k.lua", LAUNCH .. HARM)

-- What a command prints and writes in a folder.
local function report(where, command)
  os.remove(("%s%s/out"):format(folder, where))
  local out, code = shell.run("cd %s%s && CUTTLE_DEVICE=cpu %s %s k.lua", folder, where, program,
    command)
  local file <close> = io.open(("%s%s/out"):format(folder, where))
  return ("%s%d %s"):format(out:gsub("%d+%.%d+", "MS"), code, file and file:read "a" or "")
end

for _, command in ipairs { "check", "check --json", "check --json=out", "check --sarif=out",
  "check --junit=out", "check --write-baseline=out", "check --needless", "check --schedules=3",
  "check --on=H100 --nan --overflow", '--traceback check --gate="conflicts<=2"', "profile",
  "profile --json", "timeline", "bench" } do
  local want, got = report("", command), report("/harm", command)
  tap.ok(got == want, command, got)
  if command:find "check" then
    tap.ok(want:find "CT%-RACE" or want:find "race: ", "which has a finding", want)
  end
end
shell.run("rm -r " .. folder)
tap.plan()
