-- Functions of Lua that C or the virtual machine calls are a part of the kernel too: metamethods,
-- callbacks of Lua's library, protected calls, coroutines made in the kernel.
local function run(body)
  local x = arange(f32, 8)
  local k = kernel("reached", function(t) t[threadIdx.x] = body(t[threadIdx.x], t) end)
  k{grid = 1, block = 8}(x)
  print(table.concat(x:totable(), " "))
end
local function relu(v) if v > 3.0 then return v end return 0.0 end

local Number = {}
local function new(v) return setmetatable({v = v}, Number) end
local two = new(2.0)
function Number.__add(a, b)
  local sum = a.v + b.v
  if sum > 6.0 then sum = 0.0 end
  return new(sum)
end
function Number.__unm(a) if a.v > 3.0 then return -1.0 end return 1.0 end
function Number.__call(_, y) return relu(y) end
function Number.__len(a) return relu(a.v) end
function Number.__concat(a) return relu(a.v) end
function Number.__lt(a, b) return a.v < b.v end
function Number.__eq(a, b) return a.v == b.v end
function Number.__tostring(a) if a.v then return "yes" end return "no" end
local add = Number.__add

run(function(v) return (new(v) + two).v end) -- expect: 2.0 3.0 4.0 5.0 6.0 0.0 0.0 0.0
run(function(v) return -new(v) end)          -- expect: 1.0 1.0 1.0 1.0 -1.0 -1.0 -1.0 -1.0
run(function(v) return two(v) end)           -- expect: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0
run(function(v) return #new(v) end)          -- expect: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0
run(function(v) return new(v) .. "" end)     -- expect: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0
run(function(v) return tostring(two) == "yes" and v or 1 end) -- expect: 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0

-- Comparisons that are known while tracing.
run(function(v) return new(1) < two and v or -v end)    -- expect: 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0
run(function(v) return new(2.0) == two and v or -v end) -- expect: 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0

local lazy = setmetatable({}, {
  __index = function(_, key) if key == "x" then return 5.0 end return 7.0 end,
  __newindex = function(t, key, v) rawset(t, key, relu(v)) end,
})
run(function(v) return v + lazy.x + lazy.y end) -- expect: 12.0 13.0 14.0 15.0 16.0 17.0 18.0 19.0
run(function(v, t) -- expect: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0
  local own = setmetatable({}, getmetatable(lazy))
  own.z = v
  return own.z
end)
run(function(v, t) -- expect: 9.0 9.0 9.0 9.0 9.0 9.0 9.0 9.0
  local function close(self) if self then t[threadIdx.x] = 9.0 end end
  local closing = setmetatable({}, {__close = close})
  do local _ <close> = closing end
  return t[threadIdx.x]
end)

-- Callbacks.
run(function(v) -- expect: 12.0 13.0 14.0 15.0 16.0 17.0 18.0 19.0
  local n = 0
  local text = ("abc"):gsub("%w", function() n = n + 3 return relu(n) > 3 and "xx" or "" end)
  return v + #text * n / 3 end)
run(function(v) -- expect: 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0
  local t = {3, 1, 2}
  table.sort(t, function(a, b) return a > b end)
  return v + t[1]
end)
run(function(v) -- expect: 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0
  local pieces, n = {"return ", "1"}, 0
  return v + load(function() n = n + 1 return pieces[n] end)()
end)
run(function(v) return select(2, pcall(relu, v)) end) -- expect: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0
run(function(v) return v + select("#", pcall(select, 2, 1, 2, 3)) end) -- expect: 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0
run(function(v) return v + select(2, xpcall(error, function() return 1 end)) end) -- expect: 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0
run(function(v) return v + #select(2, pcall(function() error("abc", 0) end)) end) -- expect: 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0
run(function(v) -- expect: 6.0 7.0 8.0 9.0 10.0 11.0 12.0 13.0
  for k in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do v = v + k end
  return v
end)
run(function(v) -- expect: 0.0 0.0 0.0 0.0 5.0 6.0 7.0 8.0
  if v > 3.0 then
    local one = coroutine.wrap(function() coroutine.yield(1) end)
    return v + one()
  end
  return 0.0
end)

-- The condition of a while may make tables of its own and change memory.
run(function(v) -- expect: 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
  local function positive() local t = {} t.v = v return t.v > 0.0 end
  while positive() do v = v - 1.0 end
  return v
end)
run(function(_, t) -- expect: -1.0 -1.0 -1.0 -1.0 -1.0 -1.0 -1.0 -1.0
  local i = threadIdx.x
  local function count() t[i] = t[i] - 1.0 return t[i] >= 0.0 end
  while count() do end
  return t[i]
end)

-- Afterwards everything is as it was.
print(Number.__add == add) -- expect: true
print((new(1) + new(2)).v) -- expect: 3
