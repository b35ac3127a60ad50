-- A launch that fits an earlier trace runs no function of Lua: neither the kernel's, which would be traced, nor
-- what rewrites and compiles; what a trace does once is counted, and so is every call that launches make.
local n = {body = 0, helper = 0, index = 0}
local function count(what) n[what] = n[what] + 1 end
local captured = setmetatable({}, {__index = function() count("index") return 2.0 end})
local function scale(v)
  count("helper")
  return v * captured.factor
end
local k = kernel("later", function(x, y, a)
  count("body")
  local factor = scale(a)
  for i = threadIdx.x, size(x) - 1, blockDim.x do
    y[i] = factor * x[i]
  end
end)
local x, y = arange(f32, 64), zeros(f32, 64)
local config = k{grid = 1, block = 32}
config(x, y, 1.0)
print(n.body, n.helper, n.index, y[2], y[63]) -- expect: 1	1	1	4.0	126.0

local info = config:info(x, y, 1.0)
local n_lua, n_c = 0, 0
debug.sethook(function()
  if debug.getinfo(2, "S").what == "C" then n_c = n_c + 1 else n_lua = n_lua + 1 end
end, "c")
for i = 1, 100 do config(x, y, i + 0.5) end
debug.sethook()
print(y[2], y[63])               -- expect: 402.0	12663.0
print(n.body, n.helper, n.index) -- expect: 1	1	1
print(n_lua, n_c)                -- expect: 0	101

-- Nothing was made anew: the specialisation is the one of the first launch, with its times.
local again = config:info(x, y, 7.0)
print(again.trace_ms == info.trace_ms, again.emit_ms == info.emit_ms,
  again.compile_ms == info.compile_ms, n.body) -- expect: true	true	true	1

-- A launcher and a larger grid fit, too; another block is another trace.
k:prepare{grid = 1, block = 32}(x, y, 3.0)()
k{grid = 2, block = 32}(x, y, 3.0)
print(n.body)                    -- expect: 1
k{grid = 1, block = 64}(x, y, 3.0)
print(n.body)                    -- expect: 2
