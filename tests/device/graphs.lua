-- Graphs on a CUDA device: streams, events, dependent and cooperative launches, lists, kernels compiled while
-- a graph is recorded, memory. Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end
device("cuda:0")

local add = kernel("add", function(x, y, c)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = x[i] + c end
end)
local n = 1 << 16
local conf = {grid = n // 256, block = 256}
local function holds(t, f)
  local host = t:to("cpu")
  for i = 0, size(host) - 1, 997 do
    if host[i] ~= f(i) then return false end
  end
  return true
end
local function fails(name, f, pattern)
  local ok, message = pcall(f)
  tap.ok(not ok and tostring(message):find(pattern, 1, true) ~= nil, name, tostring(message))
end

-- Twenty launches, many times, with fresh arguments between.
local x, y = zeros(f32, n), zeros(f32, n)
local g = graph(function(a, b, c)
  for i = 1, 10 do
    add(conf)(a, b, c)
    add(conf)(b, a, c)
  end
end, x, y, 1.0)
tap.ok(holds(x, function() return 0 end), "recording launches nothing")
for _ = 1, 50 do g() end
tap.ok(holds(x, function() return 1000 end), "each launch of the graph is twenty")
g(x, y, 0.5)
tap.ok(holds(x, function() return 1010 end), "with another number")
local z = zeros(f32, n)
g(z, y, 1.0)
tap.ok(holds(z, function() return 20 end) and holds(x, function() return 1010 end),
  "with another tensor")
for i = 1, 100 do g(i % 2 == 0 and x or z, y, i * 1.0) end
synchronize()
tap.ok(holds(y, function() return 1010 + 20 * 2550 - 100 end), "updated at each of many launches",
  tostring(y:to("cpu")[0]))

-- Another form: the driver cannot update it.
local h = graph(function(times)
  clear(y)
  for _ = 1, times do add(conf)(y, y, 1.0) end
end, 2)
h(); h(9)
tap.ok(holds(y, function() return 9 end), "with more launches than before")

-- Streams are branches; events order them.
local side, done = stream(), event()
local u, v, w = zeros(f32, n), zeros(f32, n), zeros(f32, n)
local b = graph(function()
  add(conf)(u, u, 1.0)
  done:record()
  side:wait(done)
  add{grid = conf.grid, block = 256, stream = side}(u, v, 10.0)
  add(conf)(u, w, 100.0)
end)
for _ = 1, 20 do b() end
synchronize()
tap.ok(holds(v, function() return 30 end) and holds(w, function() return 120 end), "two branches")
local alone = graph(function() add{grid = conf.grid, block = 256, stream = side}(u, v, 1.0) end)
alone()
tap.ok(holds(v, function() return 21 end), "a graph of another stream alone")
local old = event():record(side)
fails("an event from before the graph", function()
  graph(function() side:wait(old); add(conf)(u, v, 1.0) end)
end, "the event was recorded before the graph")
add{grid = conf.grid, block = 256, stream = side}(u, v, 3.0)
side:synchronize()
tap.ok(holds(v, function() return 23 end), "the stream is as it was")
local start, stop = event(), event()
start:record(); g(); stop:record()
tap.ok(start:elapsed(stop) > 0, "events time graphs")

-- Lists, and a kernel that is compiled while the graph is recorded.
local sum = kernel("sum_of_list", function(list, out)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local s = 0.0
  for k in range(1, #list + 1) do s = s + list[k][i] end
  out[i] = s
end)
local parts, out = {}, zeros(f32, n)
for i = 1, 5 do parts[i] = full(f32, n, i) end
local l = graph(function() sum(conf)(parts, out) end)
parts[1] = full(f32, n, 100)
sum(conf)(parts, out)
tap.ok(holds(out, function() return 114 end), "a list outside the graph")
l()
tap.ok(holds(out, function() return 15 end), "the graph has the list of its recording")

-- Memory lives as long as the graph; what the function frees is freed later.
local function make()
  local a = full(f32, n, 4)
  local g = graph(function()
    local t = zeros(f32, n)
    add(conf)(a, t, 1.0)
    add(conf)(t, out, 1.0)
    t:close()
  end)
  a:close()
  return g
end
local m = make()
collectgarbage(); collectgarbage()
local filler = {}
for i = 1, 8 do filler[i] = full(f32, n, -1) end
m()
filler[1]:close()
tap.ok(holds(out, function() return 6 end), "a graph keeps its memory")
m:close()
for _ = 1, 200 do
  local t = graph(function() add(conf)(zeros(f32, n), out, 1.0) end)
  t()
end
synchronize()
tap.ok(holds(out, function() return 1 end), "many graphs, collected")

local sm = device("cuda:0").sm
if sm >= 70 then
  local meet = kernel("meet", function(x, out)
    local i = blockIdx.x
    if threadIdx.x == 0 then x[i] = x[i] + 1 end
    sync_grid()
    if threadIdx.x == 0 then out[i] = x[(i + 1) % gridDim.x] end
  end)
  local a, o = zeros(f32, 64), zeros(f32, 64)
  local c = graph(function()
    for _ = 1, 3 do meet{grid = 64, block = 32, cooperative = true}(a, o) end
  end)
  for _ = 1, 10 do c(); meet{grid = 64, block = 32, cooperative = true}(a, o) end
  synchronize()
  tap.ok(o:to("cpu")[7] == 40 and a:to("cpu")[63] == 40, "cooperative launches")
end
if sm >= 90 then
  local dependent = kernel("dependent", function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    grid_dependency_wait()
    y[i] = x[i] + 1
    grid_dependency_launch()
  end)
  clear(u); clear(v)
  local p = graph(function()
    for _ = 1, 10 do
      dependent{grid = conf.grid, block = 256, pdl = true}(u, v)
      dependent{grid = conf.grid, block = 256, pdl = true}(v, u)
    end
  end)
  for _ = 1, 10 do p() end
  synchronize()
  tap.ok(holds(u, function() return 200 end), "dependent launches")
  local A = randn(f16, layout({256, 128}, {128, 1}))
  local B = randn(f16, layout({512, 128}, {128, 1}))
  local C, D = zeros(f32, {256, 512}), zeros(f32, {256, 512})
  local q = graph(function() matmul(A, B, C) end)
  q()
  matmul(A, B, D)
  tap.ok(allclose(C, D, {rtol = 0, atol = 0}), "a product, first launched in a graph")
end

fails("reading", function() graph(function() add(conf)(x, y, 1.0); y:totable() end) end,
  "totable uses")
fails("waiting", function() graph(function() add(conf)(x, y, 1.0); side:synchronize() end) end,
  "stream:synchronize waits")
fails("a tensor of the host", function()
  graph(function() add{grid = 1, block = 32}(zeros(f32, 32):to("cpu"), x, 1.0) end)
end, "the tensor is on the CPU, but the graph records work of the GPU")
clear(y)
add(conf)(y, y, 1.0)
tap.ok(holds(y, function() return 1 end), "afterwards launches are launches")
tap.done()
