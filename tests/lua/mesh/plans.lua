-- Plans of known redistributions: collectives, bytes, and the time on large meshes.
local m = mesh{data = 2, model = 4}

local function line(on, shape, from, to)
  local p = on:plan(bf16, shape, from, to)
  local ops = {}
  for i, step in ipairs(p.steps) do
    ops[i] = step.op .. "(" .. table.concat(step.axes, ",") .. ")" .. (step.view and "*" or "")
  end
  print(table.concat(ops, " "), p.bytes)
end

-- Bytes by the formulae: a part has 4096 * 4096 * 2 / n bytes.
local square = {4096, 4096}
line(m, square, "(M,K@model)", "(M,K)") -- expect: all_gather(model)	25165824
line(m, square, "(M,K,@model+)", "(M,K)") -- expect: all_reduce(model)	50331648
line(m, square, "(M,K,@model+)", "(M,K@model)") -- expect: reduce_scatter(model)	25165824
line(m, square, "(M@model,K)", "(M,K@model)") -- expect: all_to_all(model) local()	6291456
line(m, square, "(M,K@model)", "(M@model,K)") -- expect: local() all_to_all(model)	6291456
line(m, square, "(M@data,K)", "(M@data,K)") -- expect: 	0

-- Slices need no communication; one that is a range of memory is a view.
line(m, square, "(M@data,K)", "(M@data,K@model)") -- expect: local(model)*	0
line(m, square, "(M,K)", "(M@data,K@model)") -- expect: local(data,model)	0

-- Two axes at once cost less than one after the other, where bytes are less.
line(m, square, "(M,K,@data+,@model+)", "(M,K)") -- expect: all_reduce(data,model)	58720256
line(m, square, "(M,K@data@model)", "(M,K)") -- expect: all_gather(data,model)	29360128

-- What is replicated is sliced before the rest moves.
line(m, square, "(M,K@model)", "(M@data,K)") -- expect: local(data) all_gather(model)	12582912
line(m, square, "(M,K,@model+)", "(M,K@data)") -- expect: local(data)* all_reduce(model)	25165824

-- Axes of one extent change places by whole parts; an axis is renamed in the same way.
local even = mesh{a = 3, b = 3}
line(even, {90, 64}, "(M@a,K@b)", "(M@b,K@a)") -- expect: permute(a,b)	1320
line(even, {90, 64}, "(M@a,K)", "(M@b,K)") -- expect: permute(a,b)	3840

-- Factors that do not divide one another: only what is missing is sent.
line(mesh{a = 3, b = 4}, {90, 64}, "(M@a,K)", "(M@b,K)") -- expect: send_recv(a,b)	2944
line(m, square, "(M@data,K)", "(M@model,K)") -- expect: send_recv(data,model)	8388608

-- A target over three ranks that do not divide 1000: the last one's padding is cut off.
line(mesh{a = 3}, {64, 1000}, "(M,K@a)", "(M,K)") -- expect: all_gather(a) local()*	85504

-- Groups that span nodes pay the network.
local function time(on, from, to, links)
  return on:plan(bf16, {8192, 8192}, from, to, {links = links}).seconds
end
local near_group = time(mesh"(gpu=8,node=9)", "(M,K@gpu)", "(M,K)")
local far_group = time(mesh"(node=9,gpu=8)", "(M,K@gpu)", "(M,K)")
print(far_group > 5 * near_group) -- expect: true
local rack = time(mesh"(gpu=72)", "(M,K@gpu)", "(M,K)", {node = 72})
local nodes = time(mesh"(gpu=72)", "(M,K@gpu)", "(M,K)")
print(rack < nodes) -- expect: true

-- The links of a mesh, which the option of a plan changes in part.
local own = mesh("(gpu=72)", {links = {node = 72}})
print(time(own, "(M,K@gpu)", "(M,K)") == rack) -- expect: true
print(time(mesh(own, {links = {node = 8}}), "(M,K@gpu)", "(M,K)") == nodes) -- expect: true
print(time(own, "(M,K@gpu)", "(M,K)", {launch = 1}) - rack > 0.9) -- expect: true
print(own.links.node, own == mesh"(gpu=72)", mesh(own) == own) -- expect: 72	true	true

-- Small sums over nodes go by a tree: 2 (7 links + 4 hops), and 1 MB at most.
local many = mesh"(gpu=72)"
local function sum(n, links)
  local p = many:plan(u8, n, "(_,@gpu+)", "(_)", {links = links})
  return p.steps[1], #p.steps
end
local step, n_steps = sum(1, {network_latency = 1, link_latency = 0.01, launch = 1e-9})
print(n_steps, step.op, step.bytes, ("%.2f"):format(step.seconds))
-- expect: 1	all_reduce	2	8.14
step = sum(1, {network_latency = 1, link_latency = 0.01, launch = 1e-9, tree = 0.5})
print(step.bytes, ("%.2f"):format(step.seconds)) -- expect: 71	17.26
print(sum(720000).bytes == 2 * 720000, sum(7200000).bytes == 2 * 71 * 100000) -- expect: true	true

-- 10,008 ranks, and many elements: nothing is enumerated.
local start = os.clock()
local large = mesh"(gpu=8,rack=9,pod=139)"
line(large, {1 << 20, 1 << 20, 139}, "(M@gpu@rack,K,L@pod)", "(M,K@gpu@rack,L@pod)") -- expect: local() all_to_all(gpu,rack) local()	30119633632
line(large, {1 << 20, 1 << 20}, "(M@pod,K@gpu)", "(M@gpu,K@pod)") -- expect: send_recv(gpu,pod)	1977614336
print(os.clock() - start < 5) -- expect: true

-- The printed plan.
print(m:plan(f32, {1000, 64}, "(M@model,K,@data+)", "(M@data,K@model)"))
-- expect: plan of (1000,64), 4 bytes an element, over mesh (data=2,model=4):(1,2)
-- expect: from (M@model,K,@data+) to (M@data,K@model)
-- expect: step  collective      axes   bytes     time  gives
-- expect:    1  all_to_all      model  48 kB  7.48 us  (M=(250,4),K=(16,4),@data+):((1,4000),(250,1@model))
-- expect:    2  reduce_scatter  data   32 kB  7.32 us  (M=(250,2,2),K=(16,4)):((1,4000,1@data),(250,1@model))
-- expect:    3  local                    0 B  6.02 us  (M@data,K@model)
-- expect:       all                    80 kB  20.8 us
print(m:plan(f32, {1000, 64}, "(M@data,K)", "(_@data,_)"))
-- expect: plan of (1000,64), 4 bytes an element, over mesh (data=2,model=4):(1,2)
-- expect: from (M@data,K) to (_@data,_)
-- expect: no steps: the same memory
-- A mode that is all on axes leaves the order of the others as it is.
print((tostring(m:plan(f32, {4, 4}, "(M,K)", "(M@model,K)")):match("from[^\n]*"))) -- expect: from (M,K) to (M@model,K)

-- The same plan each time, in each process.
local text = tostring(m:plan(f32, {24, 24, 24}, "(A@data,B@model,C)", "(A@model,B,C@data)"))
for _ = 1, 20 do
  assert(tostring(m:plan(f32, {24, 24, 24}, "(A@data,B@model,C)", "(A@model,B,C@data)")) == text)
end
