-- Launches on a CUDA device as files: captured there, they run there again and on the CPU engine, with the same
-- results. Prints TAP.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end
device("cuda:0")
local file = os.tmpname()

local function elements(t) return table.concat(t:to("cpu"):totable(), " ") end

-- The tensor at `at` among the arguments, after the launch, after its replay there, and on the CPU engine.
local function same(name, k, config, at, ...)
  local launch = k:prepare(config)(...)
  capture(launch, file, { data = true })
  launch()
  local want = elements((select(at, ...)))
  for _, where in ipairs { "cuda:0", "cpu" } do
    device(where)
    local again, args, info = replay(file)
    again()
    synchronize()
    tap.is(elements(args[at]), want, name .. " on " .. where)
    tap.ok(info.device ~= "cpu", name .. " knows its device", info.device)
  end
  device("cuda:0")
end

local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
same("saxpy", saxpy, { grid = 4, block = 32 }, 3, 2.5, rand(f32, 100), rand(f32, 100))

local sums = kernel("sums", function(list, y)
  local sum = f32(0)
  for j = 1, #list do sum = sum + list[j][threadIdx.x] end
  y[threadIdx.x] = sum
end)
same("a list", sums, { grid = 1, block = 16 }, 2, { rand(f32, 16), rand(f32, 32) }, zeros(f32, 16))

local turn = kernel("turn", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  y[threadIdx.x] = s[63 - threadIdx.x]
end)
same("shared memory", turn, { grid = 1, block = 64 }, 2, rand(f32, 64), zeros(f32, 64))

-- A fault of a launch on the device leaves the launch, which the CPU engine blames at its line.
local folder = shell.folder()
local script = folder .. "/fault.lua"
local f = assert(io.open(script, "w"))
f:write [[
local k = kernel("never", function(x)
  assert(x[threadIdx.x] ~= 0, "zero")
end)
k{grid = 1, block = 32}(zeros(f32, 32))
synchronize()
]]
f:close()
local run = "CUTTLE_CAPTURE=%s %s --device=cuda:0 %s >/dev/null 2>&1"
os.execute(run:format(folder, arg[-1], script))
local out = shell.run("for f in %s/*.ctk; do %s --device=cpu replay $f 2>&1; done", folder, arg[-1])
tap.ok(out:find("fault.lua:2:", 1, true) and out:find("zero", 1, true),
  "a failed launch is captured", out)
os.execute("rm -r " .. folder)
os.remove(file)
tap.plan()
