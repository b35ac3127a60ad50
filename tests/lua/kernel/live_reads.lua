-- luacheck: globals g flag text unset unrelated helper m y z scale math tonumber
-- What a trace read of the host is compared at each launch: globals, redefined helpers, what helpers captured,
-- fields of tables. A change traces anew, the old value finds the old specialisation, and what was not read counts not.
local out = zeros(f32, 1)
local traces = {n = 0}
local function run(k, expected, how)
  local before = traces.n
  k{grid = 1, block = 1}(out)
  local got, was = out[0], traces.n > before and "traced" or "known"
  if got ~= expected or was ~= how then
    print(debug.traceback(("%s %s, not %s %s"):format(got, was, expected, how), 2))
  end
end
-- A kernel that stores what `value` gives.
local function stores(value)
  return kernel("stores", function(x)
    traces.n = traces.n + 1
    x[0] = value()
  end)
end

-- Globals: numbers by value and kind, texts, booleans, functions.
g, flag, text, unset = 2.0, true, "a", nil
local k = stores(function() return g + (flag and 10 or 0) + #text + (unset or 0) end)
run(k, 13.0, "traced")
run(k, 13.0, "known")
g = 10.0 run(k, 21.0, "traced")
g = 2.0 run(k, 13.0, "known")
g = 2 run(k, 13.0, "traced")
flag = false run(k, 3.0, "traced")
text = "bcd" run(k, 5.0, "traced")
text = ("bc") .. "d" run(k, 5.0, "known")
unset = 100 run(k, 105.0, "traced")
unset = nil run(k, 5.0, "known")
unrelated = 1 run(k, 5.0, "known")
g = 0.0 run(k, 3.0, "traced")
g = -0.0 run(k, 3.0, "traced")
g = 0 / 0
k{grid = 1, block = 1}(out)
local before = traces.n
k{grid = 1, block = 1}(out)
print(traces.n == before)                   -- expect: true

-- Helpers, of helpers, redefined; what they captured.
function helper(v) return v + 1 end
local factor, other = 5, 7
local function inner(v) return v * factor end
local function middle(v) return helper(inner(v)) end
k = stores(function() return middle(2) end)
run(k, 11.0, "traced")
function helper(v) return v + 100 end
run(k, 110.0, "traced")
factor = 6 run(k, 112.0, "traced")
factor = 5 run(k, 110.0, "known")
inner = function(v) return v - other end run(k, 95.0, "traced")
other = 8 run(k, 94.0, "traced")

-- Tables, captured, global, and reached by any way.
local cfg = {scale = 4, list = {1, 2, 3}, deep = {a = {b = 1}}, tile = {1, 1}, unread = 0}
k = stores(function()
  local mine, sum = cfg, 0
  for i = 1, #mine.list do sum = sum + mine.list[i] end
  for _, v in pairs(mine.deep) do sum = sum + v.b end
  for _, v in ipairs(mine.list) do sum = sum + v end
  return sum + mine["scale"] + size(layout(mine.tile)) + select("#", table.unpack(mine.list))
end)
run(k, 21.0, "traced")
cfg.scale = 20 run(k, 37.0, "traced")
cfg.scale = 4 run(k, 21.0, "known")
cfg.list[2] = 12 run(k, 41.0, "traced")
cfg.list[4] = 100 run(k, 242.0, "traced")
cfg.deep.a.b = 2 run(k, 243.0, "traced")
cfg.deep.c = {b = 1000} run(k, 1243.0, "traced")
cfg.deep.c = nil run(k, 243.0, "known")
cfg.tile[1] = 3 run(k, 245.0, "traced")
cfg.unread = 1 run(k, 245.0, "known")
cfg.new = 1 run(k, 245.0, "known")
cfg = {scale = 0, list = {}, deep = {}, tile = {1}} run(k, 1.0, "traced")

-- What the library's functions in Lua read of what they are given: options, and records.
local how, part = {exclusive = false}, {a = 1, b = 2}
local function sum(x, y) return {a = x.a + y.a, b = x.b + y.b} end
k = stores(function()
  local of = block_reduce(part, sum)
  return block_scan(5, "add", how) + 10 * of.a + 100 * of.b
end)
run(k, 215.0, "traced")
how.exclusive = true run(k, 210.0, "traced")
how.exclusive = false run(k, 215.0, "known")
part.b = 3 run(k, 315.0, "traced")
part = {a = 2, b = 3} run(k, 325.0, "traced")
part.b = 2 run(k, 225.0, "traced")

-- Objects: methods and inherited fields; a metamethod's globals.
local Base = {bias = 1}
Base.__index = Base
function Base:value() return self.n + self.bias end
local Derived = setmetatable({}, Base)
Derived.__index = Derived
local object = setmetatable({n = 10}, Derived)
k = stores(function() return object:value() end)
run(k, 11.0, "traced")
Base.bias = 2 run(k, 12.0, "traced")
Derived.bias = 3 run(k, 13.0, "traced")
object.bias = 4 run(k, 14.0, "traced")
function Derived:value() return self.n * self.bias end
run(k, 40.0, "traced")
m = 7
local virtual = setmetatable({}, {__index = function() return m end})
k = stores(function() return virtual.anything end)
run(k, 7.0, "traced")
m = 8 run(k, 8.0, "traced")

-- Other environments, and _G.
local env = setmetatable({x = 1}, {__index = _G})
k = stores(load("return x + max(y, 0) + _G.z", "env", "t", env))
y, z = 10, 100
run(k, 111.0, "traced")
env.x = 2 run(k, 112.0, "traced")
y = 20 run(k, 122.0, "traced")
z = 200 run(k, 222.0, "traced")
env.y = 30 run(k, 232.0, "traced")

-- What is called from C: callbacks, coroutines, functions of static_fn.
local step = 1
k = stores(function()
  local _, v = pcall(function() return step end)
  local co = coroutine.wrap(function() coroutine.yield(step * 10) end)
  return v + co()
end)
run(k, 11.0, "traced")
step = 2 run(k, 22.0, "traced")
local weights = {1, 2, {3}}
local total = static_fn(function() return weights[1] + weights[2] + weights[3][1] + step end)
k = stores(function() return total() end)
run(k, 8.0, "traced")
weights[3][1] = 13 run(k, 18.0, "traced")
step = 3 run(k, 19.0, "traced")

-- What a kernel assigns is its own: counters, tables of results, memos.
local count, log, memo = {n = 0}, {}, {}
local n_calls = 0
local function square(v)
  n_calls = n_calls + 1
  memo[v] = memo[v] or v * v
  return memo[v]
end
k = stores(function()
  count.n = count.n + 1
  log[#log + 1] = "traced"
  table.insert(log, "twice")
  return square(3)
end)
run(k, 9.0, "traced")
run(k, 9.0, "known")
count.n, log[1] = 0, nil
run(k, 9.0, "known")

-- Names of the language and of Lua's libraries are constant until somebody assigns one.
function math.clamp(v, lo, hi) return math.max(lo, math.min(v, hi)) end
k = stores(function() return math.clamp(5, 0, 3) + tonumber("2") end)
run(k, 5.0, "traced")
function math.clamp(v) return v end
run(k, 7.0, "traced")
local tonumber_of_lua = tonumber
load("tonumber = function() return 1 end")()
run(k, 6.0, "traced")
tonumber = tonumber_of_lua
run(k, 7.0, "known")
load("_G.tonumber = function() return 20 end")()
run(k, 25.0, "traced")
tonumber = tonumber_of_lua

-- Launchers, and a kernel of the same name.
scale = 2
k = stores(function() return scale end)
local launch = k:prepare{grid = 1, block = 1}(out)
launch()
scale = 3
launch()
print(out[0])                             -- expect: 3.0
print(k{grid = 1, block = 1}:source(out):match("= (%d)%.0f")) -- expect: 3
k:reset()
run(k, 3.0, "traced")
