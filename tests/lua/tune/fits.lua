-- Without a GPU tune refuses what fits on no multiprocessor of the device that it is asked for.
device("cpu")
io.stderr = io.open("/dev/null", "w") -- luacheck: ignore 122 -- what tune says is for people
local function fill(config)
  local k = kernel("fill", function(x)
    local s = shared(f32, config.n)
    s[threadIdx.x] = 1.0
    sync_threads()
    x[threadIdx.x] = s[threadIdx.x]
  end)
  return function(x) k{grid = 1, block = 32}(x) end
end
local path = os.tmpname()
os.remove(path)
local tuned = tune(fill, {n = {40000, 25600, 64}}, {file = path, name = "fill", device = "T4"})
local x = zeros(f32, 32)
tuned(x)
print(tuned:config(x).n, x[31])            -- expect: 64	1.0
-- Without NVRTC the model says so, with it the kernel is not even compiled.
for _, c in ipairs(tuned.tried) do
  print(c.config.n, c.predicted_ms ~= nil, c.why and c.why:match "^predict: fill: .*shared" ~= nil)
end
-- expect: 40000	false	true
-- expect: 25600	false	true
-- expect: 64	true	nil
os.remove(path)
