-- What a graph cannot record, and what is said of it. Runs on a GPU, too.
local x, y = arange(f32, 64), zeros(f32, 64)
local k = kernel("k", function(x, y) y[threadIdx.x] = x[threadIdx.x] + 1 end)
local launch = k{grid = 1, block = 64}
local loud = kernel("loud", function(x) if threadIdx.x == 0 then printf("hi\n") end end)

local function message(f, ...)
  local ok, text = pcall(f, ...)
  return ok, (text:gsub("^.*/", ""):gsub("cuda:0", "cpu"))
end
local function refuse(f) print(select(2, message(graph, f))) end
local function short(f) print((select(2, message(graph, f)):gsub(" while .*", ""))) end

refuse(function() launch(x, y); print(y[0]) end)
-- expect: refused.lua:14: graph: an element uses a tensor's memory on the host while a graph is recorded, and nothing has run yet; do it before graph(...) or after the graph's launch
short(function() launch(x, y); x[0] = 1 end) -- expect: refused.lua:16: graph: an element uses a tensor's memory on the host
short(function() launch(x, y); y:totable() end) -- expect: refused.lua:17: graph: totable uses a tensor's memory on the host
short(function() launch(x, y); tostring(y) end) -- expect: refused.lua:18: graph: tostring uses a tensor's memory on the host
short(function() launch(x, y); fill(y, 2) end) -- expect: refused.lua:19: graph: fill uses a tensor's memory on the host
short(function() launch(ones(f32, 64), y) end) -- expect: refused.lua:20: graph: a tensor with values uses a tensor's memory on the host
refuse(function() launch(x, y); synchronize() end)
-- expect: refused.lua:21: graph: synchronize waits for launches while a graph is recorded, and nothing runs yet; do it before graph(...) or after the graph's launch
short(function() bench(function() launch(x, y) end) end) -- expect: refused.lua:23: graph: bench waits for launches
refuse(function() loud{grid = 1, block = 64}(x) end)
-- expect: refused.lua:24: graph: loud has a printf, which is read after each launch, so no graph can record it; leave the printf out, or launch the kernel outside the graph
refuse(function() k{grid = 1, block = 64, check = true}(x, y) end)
-- expect: refused.lua:26: graph: k is launched with check, which looks at each launch when it is over; check the launch outside the graph, or run the script under 'cuttle check'
refuse(function() graph(function() launch(x, y) end) end)
-- expect: refused.lua:28: graph: a graph cannot be made or launched while another one is recorded; call the function with the launches instead
refuse(function() end)
-- expect: refused.lua:8: graph: the function launched nothing; launch kernels in it, on cpu, the device that was current when it began
refuse(7)
-- expect: refused.lua:8: graph: argument 1 is a number; expected a function that launches kernels, as in graph(function() k{grid = ..., block = ...}(x) end)
refuse(function() copy(x, x) end)
-- expect: refused.lua:34: graph: copy can be recorded only between two tensors that have the same compact layout and share no memory; copy these in a kernel
refuse(function() clear(tensor(f32, layout({8, 4}, {8, 1}))) end)
-- expect: refused.lua:36: graph: clear can be recorded only for a tensor with a compact layout; clear this one in a kernel

-- The state is as it was: launches run, and graphs can be made.
launch(x, y)
print(y[3]) -- expect: 4.0
local g = graph(function(a) launch(a, y) end, x)
print(message(g, 1, 2)) -- expect: false	refused.lua:8: graph: called with 2 arguments; it was made with 1, so give as many, or none to launch it with the last ones
g:close()
print(message(g)) -- expect: false	refused.lua:8: the graph is closed
local own
own = graph(function(a) launch(a, y); if a ~= x then own:close() end end, x)
print(message(own, y)) -- expect: false	refused.lua:47: graph: the function that the graph records closes it; close it afterwards
own()
print(y[3]) -- expect: 4.0
