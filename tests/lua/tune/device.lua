-- tune on a device that is played by a driver and a compiler of tests/c: kernels are launched, but do
-- nothing. What is measured, kept, found again, and stopped by Ctrl-C; and the command.
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1]:gsub("^[^/].*/", os.getenv("PWD") .. "/%0"), os.getenv("PWD") .. "/"
local folder = shell.folder()

local n = 0
local function check(name, ok, got)
  n = n + 1
  print(("%s %d - %s"):format(ok and "ok" or "not ok", n, name))
  if not ok then print("# got: " .. tostring(got):gsub("\n", "\n# ")) end
end

local function skip(why)
  print(("ok %d - a device # SKIP %s"):format(n + 1, why))
  print(("1..%d"):format(n + 1))
  os.exit(true, true)
end

local function run(environment, arguments)
  return shell.run("cd %s && CUTTLE_CACHE=%s/cache %s '%s' %s", folder, folder, environment, cuttle,
    arguments)
end

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function text_of(name)
  local file <close> = io.open(folder .. "/" .. name)
  return file and file:read("a") or ""
end

write("t.lua", [[
local function scale(config)
  if config.n == 96 then error "not 96" end
  local k = kernel("scale", function(x, c)
    local i = blockIdx.x * config.n + threadIdx.x
    for j = 1, config.deep do x[i] = x[i] * c + j end
  end)
  return function(x, c) k{grid = size(x) // config.n, block = config.n}(x, c) end
end
local tuned = tune(scale, {n = {32, 64, 96, 128, 256}, deep = {1, 2}},
  {name = "scale", budget = tonumber(arg[1])})
local x = zeros(f32, 1024)
tuned(x, 2.0)
local config, row = tuned:config(x)
print(row.how, row.device, row.key, config.n ~= 96, row.ms > 0)
print("tried", tuned.tried and #tuned.tried, tuned.runs and tuned.runs > 0)
local n_timed = 0
for _, c in ipairs(arg[1] and tuned.tried or {}) do n_timed = n_timed + (c.ms and 1 or 0) end
if arg[1] then print("timed", n_timed, tuned.tried[1].predicted_ms ~= nil) end
]])

local device = dofile "tests/support/played_libraries.lua"(folder)
if not device then skip "no C compiler" end

-- {====== Measured, kept, found ======

local out = run(device, "t.lua")
check("the first call measures",
  out == "measured\tFake 0\tf32(1024)\ttrue\ttrue\ntried\t10\ttrue\n", out)
local kept = text_of "cache/tuned.txt"
check("and keeps a line", kept:find("\nscale\tmeasured\t[%d.e-]+\tFake 0\tCUDA [%d.]+\tf32%(1024%)"
  .. "\tdeep=%d n=%d+\t%x+\n$"), kept)
out = run(device, "t.lua")
check("the next program finds it",
  out == "measured\tFake 0\tf32(1024)\ttrue\ttrue\ntried\tnil\tnil\n", out)
check("and writes nothing", text_of "cache/tuned.txt" == kept)
out = run("CUTTLE_DEVICE=cpu", "t.lua")
check("without a device the model ranks",
  out:find "no GPU here" and out:find "\npredicted\tH200\t", out)

-- {====== Compiled at once ======

write("collect.lua", [[
package.path = "]] .. here .. [[tests/support/?.lua;" .. package.path
local internal = require "internal"
local x = zeros(f32, 64)
local ks = {}
for i = 1, 5 do ks[i] = kernel("k" .. i, function(t) t[threadIdx.x] = t[threadIdx.x] * i end) end
do
  local texts <close> = internal.launch.collect()
  for i = 1, 5 do
    for _ = 1, 2 do ks[i]{grid = 1, block = 64}(x) end
  end
  print(texts:size(), pcall(internal.launch.collect))
  print(pcall(function()
    while x[0] == 0.0 do ks[1]{grid = 1, block = 64}(x) end
  end))
  print(pcall(function() ks[1]{grid = 1, block = 32}:info(x) end))
  local most = 0
  print(texts:compile(function(n) most = math.max(most, n) return true end), most < 6)
end
for i = 1, 5 do io.write(tostring(ks[i]{grid = 1, block = 64}:info(x).from_cache), " ") end
local texts = internal.launch.collect()
texts:close()
print(pcall(texts.size, texts))
]])
out = run(device, "collect.lua")
check("all that was collected is in the cache", out:find("^5\tfalse\t[^\n]*sources are already "
  .. "being collected\nfalse\t[^\n]*tune: 10000 launches without a new kernel; does a loop wait "
  .. "for a result%?\nfalse\t[^\n]*k1: collected, not compiled\n6\ttrue\n"
  .. "true true true true true false\t[^\n]*the collection is closed%)\n$"), out)

-- Who wants no more after the first one waits for those that have begun by then. So many texts
-- wait that a busy machine, which lets the workers go on for a while, does not compile them all.
write("enough.lua", [[
package.path = "]] .. here .. [[tests/support/?.lua;" .. package.path
local internal = require "internal"
local x = zeros(f32, 64)
local texts <close> = internal.launch.collect()
for i = 1, 600 do
  kernel("enough" .. i, function(t) t[threadIdx.x] = t[threadIdx.x] * i end){grid = 1, block = 64}(x)
end
local n_calls = 0
local n = texts:compile(function(n_done)
  n_calls = n_calls + (n_done > 0 and 1 or 0)
  return n_done == 0
end)
print(texts:size(), n >= 1 and n < 600, n_calls)
]])
out = run(device, "enough.lua")
check("a search that was stopped compiles no more", out == "600\ttrue\t1\n", out)

write("two.lua", [[
local made = {}
local x = zeros(f32, 64)
tune(function(config)
  local function scale(name)
    local k = kernel(name, function(t) t[threadIdx.x] = t[threadIdx.x] * config.by end)
    made[#made + 1] = k{grid = 1, block = 64}
    return made[#made]
  end
  local first, second = scale "first", scale "second"
  return function(t)
    first(t)
    second(t)
    if t[0] < 0 then error "less than 0" end
  end
end, {by = {2, 3}}, {tolerance = {atol = 1}}):tune(x)
for _, launch in ipairs(made) do io.write(tostring(launch:info(x).from_cache), " ") end
]])
out = run(device, "two.lua")
check("so are all kernels of a function", out == "true true true true ", out)

-- {====== The command ======

out = run(device, "tune --all t.lua")
check("the command tunes again", out:find "tried\t10\ttrue\n", out)
check("and lists what was refused", out:find "\n  deep=1 n=96 +refused: not 96\n", out)
check("and what was kept",
  out:find "\nscale +f32%(1024%) +Fake 0 +measured " and out:find "\n1 result in t.tune\n$", out)
check("in a file beside the script",
  select(2, text_of "t.tune":gsub("\n", "")) == 2, text_of "t.tune")
os.remove(folder .. "/cache/tuned.txt")
out = run(device, "t.lua")
check("which a call finds", out:find "tried\tnil\tnil\n", out)
os.remove(folder .. "/t.tune")
out = run(device, "tune --file=mine.tune t.lua")
check("or in another file", out:find "\n1 result in mine.tune\n$" and text_of "t.tune" == "", out)
out = run(device, "tune --list mine.tune")
check("as a table", out:find "^name +key +device +how +ms +configuration\nscale " , out)
run("CUTTLE_DEVICE=cpu", "tune --file=cpu.tune --on=A100 t.lua")
check("the model speaks of the device that is named",
  text_of "cpu.tune":find "\tpredicted\t[%d.e-]+\tA100\t")
out = run(device, "tune --merge=both.tune mine.tune cpu.tune")
check("files are merged", out == "2 results of 2 files in both.tune, which has 2\n", out)
write("empty.lua", "print 'nothing'")
local code
out, code = run(device, "tune empty.lua")
check("a script that tunes nothing",
  code == 1 and out:find "tune: empty.lua called no tuned function", out)
out, code = run(device, "tune --fill t.lua")
check("an unknown option",
  code == 1 and out:find "tune: unknown option %-%-fill; see cuttle tune %-%-help", out)
check("its help", run(device, "tune --help"):find "^usage: cuttle tune")

-- {====== What the driver says of registers ======

write("spill.lua", [[
local x = zeros(f32, 32)
local n = 0
local function tuned(...)
  local t = tune(function(c)
    n = n + 1 -- so that no two texts differ by the name alone
    local number = 1.0 * n
    local k = kernel(c.name, function(a) a[threadIdx.x] = number end)
    return k{grid = 1, block = 32}
  end, {name = {...}})
  t:tune(x)
  for _, c in ipairs(t.tried) do print(c.name, c.text, c.registers, c.local_bytes, c.why) end
end
tuned("fine", "spill136", "spill137")
tuned("spill500", "spill501", "spill628", "spill629")
]])
out = run(device, "spill.lua")
local function line_of(name, bytes)
  local why = bytes and ("40 registers are not enough: %d bytes of each thread are in local memory")
    :format(bytes) or "nil"
  return ("nil\tname=%s\t40\t%d\t%s\n"):format(name, name:match "%d+" or 8, why)
end
check("a kernel that spills is refused if another does not", out == line_of "fine"
  .. line_of "spill136" .. line_of("spill137", 137) .. line_of "spill500" .. line_of "spill501"
  .. line_of "spill628" .. line_of("spill629", 629), out)

-- {====== Results of the model on a GPU ======

os.execute(("rm -rf '%s/cache' '%s/t.tune'"):format(folder, folder))
write("near.lua", text_of "t.lua":gsub("budget = [^}]*", 'file = "model.tune", unknown = arg[1]'))
out = run("CUTTLE_DEVICE=cpu", "tune --file=model.tune near.lua")
check("a prediction for the model of the device", text_of "model.tune":find "\tH200\t", out)
out = run(device, "near.lua nearest")
check("stands where nothing is to be tuned", out:find "^predicted\tH200\t", out)
write("model.tune", text_of "model.tune":gsub("predicted", "measured"))
out = run(device, "near.lua nearest")
check("what was measured on another device does not", not out:find "H200", out)
write("model.tune", text_of "model.tune":gsub("measured", "predicted"))
out = run(device, "near.lua")
check("and not where something is", out:find "^measured\tFake 0\t", out)
write("near.lua", text_of "near.lua":gsub("x%[i%] %* c", "c * x[i]"))
run("CUTTLE_DEVICE=cpu", "tune --file=model.tune --on=H100 near.lua")
out = run(device, "near.lua nearest")
check("nor one for another device", out:find "row" and not out:find "H100", out)

-- {====== Not to the end ======

-- What the model cannot run is timed all the same.
write("only.lua", [[
local x = zeros(f32, 32)
local t = tune(function(c)
  local k = kernel("k", function(a) a[threadIdx.x] = 1.0 end)
  return function(a)
    if a.device == "cpu" then error "not here" end
    k{grid = 1, block = 32}(a)
  end
end, {n = {1, 2, 3, 4}}, {budget = 2})
t:tune(x)
for _, c in ipairs(t.tried) do print(c.text, c.ms ~= nil, c.why) end
]])
out = run(device, "only.lua")
check("without a prediction the first are timed", out == "n=1\ttrue\tnil\nn=2\ttrue\tnil\n"
  .. "n=3\tfalse\tnot here\nn=4\tfalse\tnot here\n", out)
os.execute(("rm -rf '%s/cache'"):format(folder))
out = run(device, "t.lua 3")
check("only so many are timed",
  out:find "^measured\tFake 0" and out:find "\ntimed\t3\ttrue\n$", out)
write("stopped.lua", [[
local race = require "cuttle.race"
local begin = race.run
race.run = function(list, time, step, seed)
  local count = 0
  return begin(list, function(...)
    count = count + 1
    if count == 9 then io.popen("kill -INT $PPID"):close() end
    return time(...)
  end, step, seed)
end
]] .. text_of "t.lua")
os.execute(("rm -rf '%s/cache'"):format(folder))
out = run(device, "stopped.lua")
check("Ctrl-C keeps the best so far, and the script goes on",
  out:find "^partial\tFake 0\t.*\ntried\t10\t", out)
out = run(device, "t.lua")
check("a partial result is tuned again", out:find "^measured\tFake 0\t.*\ntried\t10\t", out)
print(("1..%d"):format(n))
os.execute(("rm -rf '%s'"):format(folder))
