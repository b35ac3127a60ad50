-- `cuttle timeline`: which launches it shows, its options and its complaints.
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]

local write = shell.file

local script = write [[
local one = kernel("one", function(x) x[blockIdx.x] = 1.0 end)
local two = kernel("two", function(x)
  sync_threads()
  if threadIdx.x == 0 then x[blockIdx.x] = cast(x[blockIdx.x] + 1, x.dtype) end
end)
local x, half = zeros(f32, 4), zeros(f16, 4)
one{grid = 1, block = 32}(x)
two{grid = 4, block = 64, check = true}(x)
two{grid = 4, block = 64}(x)
two{grid = 2, block = 64}(half)
timeline(two{grid = 4, block = 64}, {block = 3}, x)   -- one of the script's own
print(x[0], x[1], ...)
if arg[1] then os.exit(tonumber(arg[1])) end
]]

local function run(arguments)
  local out, code = shell.cuttle("timeline %s", arguments)
  out = out:gsub(script, "SCRIPT", nil)
  return out, code
end

local function show(arguments)
  local out, code = run(arguments)
  for line in out:gmatch("[^\n]+") do
    if line:find("SCRIPT", 1, true) or line:find("^block") or line:find("^timeline") then
      print(line)
    end
  end
  return code
end

-- The first launch of each specialisation, whole: the script computes what it always does.
local out, code = run(script .. " 3")
print(code, out:match("^[^\n]*"))
-- expect: 3	3.0	2.0	3
show(script)
-- expect: one  SCRIPT:1  grid (1,1,1), block (32,1,1)
-- expect: block (0,0,0): 2 cycles of the model
-- expect: two  SCRIPT:2  grid (4,1,1), block (64,1,1)
-- expect: block (0,0,0): 527 cycles of the model
-- expect: two  SCRIPT:2  grid (2,1,1), block (64,1,1)
-- expect: block (0,0,0): 529 cycles of the model
show("--kernel two --launch=3 --block 1,0 --model global=1000 " .. script)
-- expect: two  SCRIPT:2  grid (2,1,1), block (64,1,1)
-- expect: block (1,0,0): 1029 cycles of the model
show("--block=2 " .. script) -- what has no such block is left out
-- expect: two  SCRIPT:2  grid (4,1,1), block (64,1,1)
-- expect: block (2,0,0): 527 cycles of the model

-- Pictures, numbered.
local picture = os.tmpname()
local second = picture .. "-2"
out = run(("--kernel=two --svg=%s --from=10 --to=400 %s"):format(picture, script))
print(out:sub(-#picture - #second - 2) == picture .. "\n" .. second .. "\n")
-- expect: true
local file = assert(io.open(second))
print(file:read("a"):match("<title>(.-)</title>"))
-- expect: timeline of two, block (0,0,0)
file:close()

-- A page of all.
run(("--html=%s %s"):format(picture, script))
file = assert(io.open(picture))
print(file:read("a"):match("<title>(.-)</title>")) -- expect: 3 timelines
file:close()

print(show("--kernel=three " .. script))
-- expect: timeline: SCRIPT launched no kernel 'three' on the CPU engine; it launched one, two
-- expect: 1
show("--launch=5 " .. script) -- expect: timeline: there is no launch 5; SCRIPT made 4
show("--block=9 " .. script)
-- expect: timeline: no such launch has a block (9,0,0); the last one's grid was (2,1,1)

-- Measured on the script's GPU; here there is none.
print((io.popen(("CUTTLE_DEVICE=cpu '%s' timeline --measure %s 2>&1 >/dev/null"):format(cuttle,
  script)):read("a"):gsub(script, "SCRIPT", nil):gsub("\n", "")))
-- expect: timeline: SCRIPT launched no kernel on a GPU
print(run("--marks=4 --kernel=two " .. script):match("mark line 4[^\n]*"))
-- expect: mark line 4 of warps 0-1: at 21
print(show("--marks=4,999,1,999 " .. script))
-- expect: one  SCRIPT:1  grid (1,1,1), block (32,1,1)
-- expect: block (0,0,0): 2 cycles of the model
-- expect: two  SCRIPT:2  grid (4,1,1), block (64,1,1)
-- expect: block (0,0,0): 527 cycles of the model
-- expect: two  SCRIPT:2  grid (2,1,1), block (64,1,1)
-- expect: block (0,0,0): 529 cycles of the model
-- expect: timeline: no warp of these blocks reaches line 999
-- expect: 1

-- Arguments, without a program of their own.
local command = require "cuttle.command_timeline"
local function complain(...) print(select(2, pcall(command, ...))) end
complain("--block=1,x", script) -- expect: timeline: --block=1,x is not the index of a block; write --block=1,0,0
complain("--block=1,1,1,1", script)
-- expect: timeline: --block=1,1,1,1 has 4 numbers; a block has up to 3
complain("--launch", "0", script) -- expect: timeline: --launch=0: expected a whole number from 1 on
complain("--from=10", script) -- expect: timeline: --from and --to apply to the picture; write --svg=FILE or --html=FILE as well
complain("--model=copy", script) -- expect: timeline: --model=copy; write --model=copy=900,copy_bytes=32
complain("--marks=x", script)
-- expect: timeline: --marks=x; write lines of the script, as in --marks=12,20
complain("--marks=3,0", script)
-- expect: timeline: --marks=3,0; write lines of the script, as in --marks=12,20
complain("--marks=" .. ("1,"):rep(64) .. "1", script)
-- expect: timeline: --marks has 65 lines; up to 64 were expected
complain("--measure=no", script) -- expect: timeline: --measure takes no value; see cuttle timeline --help
complain("--measure") -- expect: timeline: a script was expected; see cuttle timeline --help
complain("--svg") -- expect: timeline: --svg needs a value; see cuttle timeline --help
complain("--page=x", script) -- expect: timeline: unknown option --page=x; see cuttle timeline --help
complain() -- expect: timeline: a script was expected; see cuttle timeline --help
complain("/none.lua") -- expect: timeline: cannot open /none.lua: No such file or directory
print((run("--help"):match("^[^\n]*")))
-- expect: usage: cuttle timeline [options] script.lua [arguments]
for _, path in ipairs { script, picture, second } do os.remove(path) end
