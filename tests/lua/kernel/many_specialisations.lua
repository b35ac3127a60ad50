-- A kernel keeps up to 256 specialisations; with one more it begins anew, so that what varies without
-- end does not eat all memory.
local number, traces = 0, {n = 0}
local out = zeros(f32, 1)
local k = kernel("counts", function(t)
  traces.n = traces.n + 1
  t[0] = number + 0.0
end)
local function launch(v)
  number = v
  k{grid = 1, block = 1}(out)
  assert(out[0] == v)
end
for v = 1, 256 do launch(v) end
print(traces.n) -- expect: 256
for v = 1, 256 do launch(v) end
print(traces.n) -- expect: 256
launch(257)
launch(257)
print(traces.n) -- expect: 257
launch(1)
launch(257)
print(traces.n) -- expect: 258

-- Captured tables are let go of with them.
local kept = setmetatable({}, {__mode = "k"})
local part = {v = 0}
local kt = kernel("parts", function(t) t[0] = part.v end)
for v = 1, 300 do
  part = {v = v + 0.0}
  kept[part] = true
  kt{grid = 1, block = 1}(out)
  assert(out[0] == v)
end
collectgarbage()
local n = 0
for _ in pairs(kept) do n = n + 1 end
print(n) -- expect: 44
