-- timeline(launch, {device = true}) on a device that is played by a driver of tests/c: kernels
-- compile, but do nothing, so no clock is recorded. Arguments of all kinds get there.
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1]:gsub("^[^/].*/", os.getenv("PWD") .. "/%0"), os.getenv("PWD") .. "/"
local folder = shell.folder()

local function skip(why)
  print("ok 1 - measured # SKIP " .. why)
  print "1..1"
  os.exit(true, true)
end

local function run(environment, arguments)
  return (shell.run("cd %s && CUTTLE_CACHE=%s/cache %s '%s' %s", folder, folder, environment,
    cuttle, arguments))
end

do
  local file <close> = assert(io.open(folder .. "/t.lua", "w"))
  file:write [[
local scale = kernel("scale", function(list, n, c)
  if threadIdx.x < n then list.x[threadIdx.x] = list.y[threadIdx.x] * c end
  sync_threads()
end)
local all = zeros(f32, 64)
local x, y = view(all, layout(32)), zeros(f32, 32)
local launch = scale:prepare{grid = 1, block = 32}({x = x, y = y}, u32(32), f32(2))
local t = timeline(launch, {device = true})
print(t.measured.cycles, #t.rows, #t.measured.rows, x[0])
local marks = require "cuttle.marks"
local k = kernel("noted", function(t)
  mark "here"
  t[threadIdx.x] = 1.0
end)
local n_places
local ids = {}
local function take(launch, places)
  n_places, ids[#ids + 1] = 0, launch.id
  for _ in pairs(places) do n_places = n_places + 1 end
end
local ready = k:prepare{grid = 1, block = 32}(x)
for _, run in ipairs { function() k{grid = 1, block = 32}(x) end, ready } do
  for _ = 1, 3 do run() end -- what fits an earlier launch is found without a look at its kernel
  marks.with({}, take, run)
  marks.with({}, take, run)
  local on = n_places
  n_places = nil
  run()
  print(on, n_places)
end
marks.with({ waits = true }, take, ready)
marks.with({}, take, ready)
marks.with({ lines = { 13 } }, take, ready)
marks.with({ lines = { 13, 14 } }, take, ready)
print(#ids, ids[1] == ids[2], ids[1] == ids[4]) -- the same marks, the same kernel
print(ids[4] == ids[5], ids[6] == ids[7], ids[7] == ids[8])
print((select(2, pcall(timeline, scale:prepare{grid = 1, block = 32}(
  {x = x:to"cpu", y = y:to"cpu"}, u32(32), f32(2)), {device = true})):gsub("^.-:%d+: ", "")))
]]
end

local driver = folder .. "/libcuda.so"
local compile = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -DWITHOUT_PARAM_INFO -I'%s' "
  .. "'%stests/c/fake_libcuda.c' -o '%s' 2>/dev/null"):format(os.getenv "CC" or "cc", here, here,
  driver)
if not run("CUTTLE_DEVICE=cpu", "info"):find "\nNVRTC +%d" then skip "no NVRTC" end
if not os.execute(compile) then skip "no C compiler" end

local out = run(("CUTTLE_LIBCUDA='%s' CUTTLE_DEVICE=cuda"):format(driver), "t.lua")
local is_right = out == "0\t1\t1\t0.0\n1\tnil\n1\tnil\n8\ttrue\ttrue\nfalse\tfalse\tfalse\n"
  .. "timeline: device = true measures on a GPU, but no argument is a tensor on one; make them "
  .. "there, or leave it out\n"
print((is_right and "ok" or "not ok") .. " 1 - typed numbers and tables of tensors")
if not is_right then print("# got: " .. out:gsub("\n", "\n# ")) end
print "1..1"
os.execute(("rm -rf '%s'"):format(folder))
