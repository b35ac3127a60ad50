-- Predictions of many functions together: their texts are compiled at once, equal ones once, before
-- registers are asked for; and what is predicted where that is stopped.
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"
local here, program = folder.absolute ".", folder.absolute(arg[-1])
local head = ('package.path = "%s/tests/support/?.lua;" .. package.path\n'):format(here) .. [[
local internal = require "internal"
local machine_code = require "cuttle.cubin"
local judging = require "cuttle.tune_judge"
local predict = require "cuttle.predict"
device "cpu"
local function n_files()
  local pipe <close> = io.popen "ls cache/*.ct 2>/dev/null | wc -l"
  return pipe:read "n"
end
]]
local function run(name, text, environment)
  folder.write(name, head .. text)
  return (folder.run(("CUTTLE_DEVICE=cpu CUTTLE_CACHE=cache %s '%s' %s </dev/null"):format(
    environment or "", program, name)))
end

if not folder.run(("CUTTLE_DEVICE=cpu '%s' info"):format(program)):find "\nNVRTC +%d" then
  folder.remove()
  tap.skip_all "no NVRTC"
end

local out = run("t.lua", [[
local x = zeros(f32, 4096)
local function scale(by, deep)
  return function()
    local k = kernel("scale", function(t) t[threadIdx.x] = polynomial(t, by, deep) end)
    k{grid = 4, block = 128}(x)
  end
end
function polynomial(t, by, deep)
  local r = fragment(f32, deep)
  for i = 0, deep - 1 do r[i] = t[threadIdx.x + i * by] end
  local sum = 0.0
  for i = 0, deep - 1 do sum = sum * r[i] + r[deep - 1 - i] end
  return sum
end
local list, alone = {}, {}
for i, deep in ipairs {1, 8, 64} do list[i] = assert(predict.play(scale(32, deep), "H200")) end
print("played", n_files(), #list[1], list[2].device.name)
local seen = {}
print("texts", predict.compile(list, function(n) seen[#seen + 1] = n return true end))
print("compiled", n_files())
for i, played in ipairs(list) do
  local together = assert(predict.of(played))
  alone[i] = assert(predict.run(scale(32, ({1, 8, 64})[i]), "H200"))
  print(i, together.ms == alone[i].ms, together.launches[1].work.registers
    == alone[i].launches[1].work.registers, together.launches[1].work.registers > 0)
end
print("more", n_files())
print("without", predict.of(list[3], { compile = false }).launches[1].work.registers)
print("none", predict.compile({}, print), predict.compile({ { device = {} } }, print))
]])
tap.is(out, "played\t0\t1\tH200\ntexts\t3\ncompiled\t3\n1\ttrue\ttrue\ttrue\n2\ttrue\ttrue\ttrue\n"
  .. "3\ttrue\ttrue\ttrue\nmore\t3\nwithout\tnil\nnone\t0\t0\n",
  "compiled at once, with the same times as one by one")

-- {====== Stopped ======

local judged = [[
local x = zeros(f32, 4096)
local function fill(config)
  return kernel("fill", function(t)
    for i = 1, config.deep do t[blockIdx.x * blockDim.x + threadIdx.x] = 1.0 * i end
  end){grid = 8, block = config.threads}
end
local list = {}
for i, threads in ipairs {32, 64, 128, 256} do
  list[i] = { config = { threads = threads, deep = i }, text = "threads=" .. threads }
end
list[#list + 1] = { config = { threads = 2000, deep = 1 }, text = "threads=2000" }
local judge = judging.new { f = fill, args = table.pack(x), device = "H200" }
local function predicted(most)
  local n, n_compiled = 0, 0
  local ranked, is_done = judging.predict_all(judge, list, function()
    n, n_compiled = n + 1, n_files()
    return n < most
  end)
  print(#ranked, is_done, n, n_compiled, n_files())
end
]]
folder.run "rm -r cache"
out = run("all.lua", judged .. "predicted(100) print(judging.predict_steps(#list))")
tap.is(out, "4\ttrue\t10\t5\t5\n10\n",
  "two steps for each, and all is compiled before the last")
folder.run "rm -r cache"
out = run("first.lua", judged .. "predicted(3)")
tap.is(out, "3\tfalse\t3\t0\t0\n", "stopped while they run, it knows those that ran")
out = run("second.lua", judged .. "predicted(7)"):gsub("%d\t%d\n$", "")
tap.is(out, "4\tfalse\t7\t", "stopped while they compile, it knows all")

-- {====== Equal texts ======

local fake = folder.path .. "/libnvrtc.so"
local compile = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC '%s/tests/c/fake_nvrtc.c' "
  .. "-o '%s'"):format(os.getenv "CC" or "cc", here, fake)
if select(2, folder.run(compile)) ~= 0 then
  tap.skip("equal texts", "no C compiler")
else
  folder.run "rm -r cache"
  out = run("equal.lua", [[
  local jobs = {}
  local function add(n, source, symbol, options)
    for _ = 1, n do jobs[#jobs + 1] = { source = source, symbol = symbol, options = options } end
  end
  add(5, "one", "a", {})
  add(3, "one", "a", {"-O1"})
  add(2, "two", "a", {})
  add(1, "one", "b", {})
  add(4, "one", "a", {})
  local most = 0
  print(internal.watch.profile_compile(jobs, 90, function(n) most = n return true end), most <= 15)
  print((select(2, machine_code.resources_of("one", 90, "a", {"-O1"}))))
  print(n_files())
  ]], ("CUTTLE_NVRTC='%s' FAKE_NVRTC_LOG=log"):format(fake))
  tap.is(out, "15\ttrue\nthe cubin does not say\n4\n", "fifteen jobs are done")
  local names, processes, n_processes = {}, {}, 0
  for name, process in (folder.read "log" or ""):gmatch "(%S+) (%d+)\n" do
    names[#names + 1] = name
    n_processes = n_processes + (processes[process] and 0 or 1)
    processes[process] = true
  end
  table.sort(names)
  tap.is(table.concat(names, " "), "a.cu a.cu a.cu b.cu", "equal ones are compiled once")
  local n_processors = tonumber((folder.run "getconf _NPROCESSORS_ONLN")) or 1
  tap.ok(n_processors == 1 or n_processes > 1, "by several processes", n_processes)
  out = run("die.lua", [[
  local jobs = {}
  for i = 1, 5 do
    jobs[i] = { source = "text " .. i, symbol = i == 2 and "die" or "live", options = {} }
  end
  print(internal.watch.profile_compile(jobs, 90, function() return true end))
  ]], ("CUTTLE_NVRTC='%s' FAKE_NVRTC_LOG=log"):format(fake))
  tap.ok(n_processors == 1 or out == "4\n", "a process that dies leaves one job undone",
    out)
end
folder.remove()
tap.done()
