-- k:reset(), k:prepare, configurations that are kept, k{...}:info, names.
local count = {n = 0}
local fill_with = kernel("fill_with", function(t, v)
  count.n = count.n + 1
  t[threadIdx.x] = v
end)
print(fill_with) -- expect: kernel fill_with (tests/lua/kernel/lifecycle.lua:3)

-- A configuration may be kept and called again and again.
local x, y = zeros(f32, 32), zeros(f32, 32)
local config = fill_with{grid = 1, block = 32}
config(x, 1.0)
config(y, 2.0)
print(x[31], y[31], count.n) -- expect: 1.0	2.0	1

-- A launcher holds its arguments, also from the collector.
local launch = fill_with:prepare{grid = 1, block = 32}(x, 3.0)
print(x[0])     -- expect: 1.0
launch()
launch()
print(x[0], count.n) -- expect: 3.0	1
local kept = fill_with:prepare{grid = 1, block = 16}(zeros(f32, 16), 4.0)
collectgarbage()
collectgarbage()
kept()
print(count.n)  -- expect: 2
print((pcall(launch, 1))) -- expect: false

-- reset forgets all specialisations; the next launch traces again.
fill_with:reset()
config(x, 5.0)
print(x[0], count.n) -- expect: 5.0	3

-- :info traces, :ir and :source do so for themselves; none of them launches.
x[0] = 0
fill_with:reset()
local info = config:info(x, 6.0)
print(info.shared_bytes, type(info.from_cache), info.trace_ms >= 0, count.n) -- expect: 0	boolean	true	4
print(config:ir(x, 6.0):match("store")) -- expect: store
print(count.n)  -- expect: 5
print(config:source(x, 6.0):match("fill_with%b()")) -- expect: fill_with(float* __restrict__ t, float v)
print(count.n)  -- expect: 6
config(x, 6.0)
print(x[0], count.n) -- expect: 6.0	6

-- A kernel without a name is called after its file and line, or its text.
print(kernel(function() end)) -- expect: kernel lifecycle_47 (tests/lua/kernel/lifecycle.lua:47)
local f = load("return function() end", "=9 lives")()
print(kernel(f)) -- expect: kernel k9_lives_1 (9 lives:1)
print(kernel(load("return 1"))) -- expect: kernel string_return_1_0 ([string "return 1"]:0)

-- A last argument that is nil is none.
local set = kernel("set", function(x) x[0] = 1 end)
local one = zeros(f32, 1)
set({grid = 1, block = 1}, nil)(one)
set:prepare{grid = 1, block = 1}(one)(nil)
print(one[0], f32(2, nil), (pcall(f32, nil, 2))) -- expect: 1.0	f32(2.0)	false
