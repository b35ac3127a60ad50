-- A graph: launches, copies and fills, recorded once and carried out at each call. Runs on a GPU, too.
local n = 1000
local add = kernel("add", function(x, y, c)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = x[i] + c end
end)
local function launch(x, y, c) add{grid = (n + 127) // 128, block = 128}(x, y, c) end

-- Nothing runs while it is recorded.
local x, y = arange(f32, n), zeros(f32, n)
local calls = 0
local g = graph(function()
  calls = calls + 1
  launch(x, y, 1)
  launch(y, y, 10)
end)
print(y[0], y[999], calls) -- expect: 0.0	0.0	1
g()
print(y[0], y[999]) -- expect: 11.0	1010.0
y[0] = 5
g(); g()
print(y[0], y[999], calls) -- expect: 11.0	1010.0	1
print((tostring(g):gsub(" on .*", ""))) -- expect: graph of 2 launches

-- New arguments: the function is recorded anew, once for as long as they stay.
local z = full(f32, n, 100)
local h = graph(function(a, b, c)
  calls = calls + 1
  for i = 1, 3 do launch(a, b, c); a = b end
end, x, y, 1)
h()
print(y[7], calls) -- expect: 10.0	2
h(x, y, 1); h(x, y, 1)
print(y[7], calls) -- expect: 10.0	2
h(x, y, 2)
print(y[7], calls) -- expect: 13.0	3
h(z, y, 2.5); h()
print(y[7], calls) -- expect: 107.5	4
h(x, z, 1)
print(z[7], y[7], calls) -- expect: 10.0	107.5	5

-- With another number of launches, too.
local m = graph(function(times)
  clear(y)
  for i = 1, times do launch(y, y, 1) end
end, 3)
m()
print(y[0], y[999]) -- expect: 3.0	3.0
m(7)
print(y[0], y[999]) -- expect: 7.0	7.0
print((tostring(m):gsub(" on .*", ""))) -- expect: graph of 7 launches and 1 copy

-- Copies between tensors, zeros and clear are recorded; memory is there at once.
local sum = zeros(f32, n)
local kept
local c = graph(function()
  local t = zeros(f32, n)
  launch(t, t, 2)
  copy(t, sum)
  kept = t
end)
c(); c()
print(sum[3], kept[3]) -- expect: 2.0	2.0

-- What a graph uses lives as long as it does.
local function make()
  local a = full(f32, n, 4)
  local k = kernel(function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < size(x) then y[i] = x[i] * 3 end
  end)
  local g = graph(function() k{grid = 8, block = 128}(a, sum) end)
  a:close()
  return g
end
local p = make()
collectgarbage(); collectgarbage()
p()
print(sum[0], sum[999]) -- expect: 12.0	12.0

-- Numbers are those of the recording; tables are taken as they were.
local list = {x, y}
local first = kernel("first", function(ts, out) out[0] = ts[1][1] + ts[2][1] end)
copy(x, y)
local l = graph(function() first{grid = 1, block = 1}(list, sum) end)
list[1] = sum
l()
print(sum[0]) -- expect: 2.0

-- A prepared launch, and a configuration that is called again and again.
local ready = add:prepare{grid = 8, block = 128}(x, y, 3)
local conf = add{grid = 8, block = 128}
local q = graph(function()
  ready()
  for i = 1, 3 do conf(y, y, i) end
end)
q()
print(y[0], y[999]) -- expect: 9.0	1008.0

-- Failures leave the graph as it was.
local bad = graph(function(ok)
  launch(x, y, 1)
  if not ok then error("no", 0) end
end, true)
print(pcall(bad, false)) -- expect: false	no
bad()
print(y[0]) -- expect: 1.0

do
  local t <close> = graph(function() launch(x, y, 2) end)
  t()
end
print(y[0]) -- expect: 2.0
g:close(); g:close()
print(tostring(g)) -- expect: graph (closed)
