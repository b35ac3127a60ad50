-- What watches launches sees those of a graph, also of one that was recorded before.
device("cpu") local add = kernel("add", function(x, y) y[threadIdx.x] = x[threadIdx.x] + 1 end)
local racy = kernel("racy", function(x) x[0] = x[threadIdx.x] end)
local x, y = zeros(f32, 64), zeros(f32, 64)
local g = graph(function()
  add{grid = 1, block = 64}(x, y)
  add{grid = 1, block = 64}(y, x)
end)
local report = tostring(profile(g))
print(report:match("block %(64,1,1%), (%d launches)"), y[3], x[3]) -- expect: 2 launches	1.0	2.0

-- A captured value is that of the recording, and the kernel may forget what it compiled.
local c = 1
local cap = kernel("cap", function(x) x[threadIdx.x] = c end)
local h = graph(function() cap{grid = 1, block = 64}(x) end)
c = 2
cap:reset()
h()
print(x[9]) -- expect: 1.0
for i = 1, 300 do
  c = i + 0.5
  cap{grid = 1, block = 1}(y)
end
collectgarbage()
h()
print(x[9], y[0]) -- expect: 1.0	300.5

-- A limit of instructions, an error and an empty grid in a recording.
print(pcall(graph, function() add{grid = 0, block = 64}(x, y); error("stop", 0) end)) -- expect: false	stop
local k = graph(function() add{grid = 0, block = 64}(x, y); racy{grid = 1, block = 1}(x) end)
print((tostring(k):gsub(" on .*", ""))) -- expect: graph of 1 launch
k()

-- Graphs in coroutines.
local co = coroutine.wrap(function()
  local g = graph(function() add{grid = 1, block = 64}(x, y) end)
  coroutine.yield()
  g()
  return y[1]
end)
co()
print(co()) -- expect: 2.0
