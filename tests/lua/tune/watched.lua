-- While launches are recorded or watched, or a rank runs, nothing is tuned: a call takes the nearest
-- result, or the first configuration.
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
os.remove(path)
local made = {}
local function fill(config)
  made[#made + 1] = config.n
  local k = kernel("fill", function(x) x[blockIdx.x * config.n + threadIdx.x] = 1.0 end)
  return function(x) k{grid = size(x) // config.n, block = config.n}(x) end
end
local function tuned() return tune(fill, {n = {64, 32, 128}}, {file = path, name = "fill"}) end

local x = zeros(f32, 256)
local t = tuned()
local g = graph(function() t(x) end)
g()
print(#made, made[1], x[255])              -- expect: 1	64	1.0
local y = zeros(f32, 256)
local function watched(f) -- a profile watches the CPU engine only
  if device().sm then graph(f)() else profile(f) end
end
watched(function() t(y) end)
print(y[255], #made)                       -- expect: 1.0	1
local message
watched(function()
  message = select(2, pcall(t.tune, t, y))
  t(y)
end)
print(message:match "tune: (.*)" == "fill: launches are recorded, emitted or watched "
  .. "here, or a rank runs, so nothing can be timed; tune before that") -- expect: true
mesh{data = 1}:run(function(r)
  local z = zeros(f32, 128)
  t(z)
  print(r.rank, z[127])                    -- expect: 0	1.0
end)
print(#made, io.open(path) == nil)         -- expect: 1	true

-- With several processes, by the command that watches.
local function output_of(command, environment)
  return (shell.run("%s CUTTLE_DEVICE=cpu CUTTLE_CACHE=off %s %s examples/tune_stencil.lua",
    environment or "", arg[-1], command))
end
for _, command in ipairs { "check", "profile", "timeline" } do
  print(command, output_of(command):find "no GPU here")
end
-- expect: check	nil
-- expect: profile	nil
-- expect: timeline	nil

-- A machine without a compiler predicts, too, without registers.
local out = output_of("", "CUTTLE_NVRTC=/nowhere")
print(out:find("no GPU here", 1, true) ~= nil, out:find("equal to the untuned one:%s+true") ~= nil)
-- expect: true	true
