-- The rows of cuttle scripts/bench/main.lua hopper attention beside a peer that only plays its part.
local shell = dofile "tests/support/shell.lua"
local path = shell.file [[
io.stdout:setvbuf("line")
print("a warning of the library")
print("ok Pretender 1.0")
local answers = {data = "", causal = "default slow", error = "0.002 0.5", error_of = "0.001 0.25"}
for line in io.lines() do
  local name, rest = line:match "^(%S+) ?(.*)$"
  if name == "time" then
    local backend, idle, warm, sync, reps = rest:match "^(%S+) (%S+) (%d+) (%d) (%d+)$"
    print(backend and idle and sync and "ok " .. (backend == "slow" and 40000 or 30000)
      or "error time: " .. rest)
  elseif name == "data" then
    local q = assert(io.open(rest:match "^f16 1 2 48 32 (%S+)")):read "a"
    print(#q == 128 + 2 * 48 * 32 * 2 and "ok" or "error data: " .. #q)
  else
    print(answers[name] and "ok " .. answers[name] or "error no " .. name)
  end
end
]]
local function lines(arguments)
  return (shell.cuttle("scripts/bench/main.lua hopper attention --regime=eq --rounds=1 "
    .. arguments))
end
local text = lines(("--peer=\"'%s' %s\""):format(arg[-1], path))
os.remove(path)
print(text:match "beside [^\n]+")                     -- expect: beside Pretender 1.0
print(text:match "attention f16 1x2x48 d32 %a+")      -- expect: attention f16 1x2x48 d32 causal
for _, name in ipairs{"SDPA default", "SDPA slow", "%* plain, lazy", "%* plain "} do
  print(text:match("\n  (" .. name .. ")[^\n]- (0.00%d, largest [%d.]+)\n"))
end
-- expect: SDPA default	0.002, largest 0.5
-- expect: SDPA slow	0.002, largest 0.5
-- expect: * plain, lazy	0.001, largest 0.25
-- expect: * plain 	0.001, largest 0.25
print(text:match "bars: [^\n]+")                      -- expect: bars: their error over ours 2.000 >= 0.99 yes
print(text:match "\n(1 of 1 bars met, 0 wrong)")      -- expect: 1 of 1 bars met, 0 wrong
print(lines("--peer=false"):match "attention: [^\n]+") -- expect: attention: nothing beside it, as there is no PyTorch: it ended
print(lines("--peer='echo error none'"):match "attention: [^\n]+") -- expect: attention: nothing beside it, as there is no PyTorch: none
print(lines("full"):match "hopper: [^\n]+")           -- expect: hopper: no row has all of these words: full
