-- static_fn: a function runs as plain Lua while tracing, whatever a kernel would make of it.
local calls = 0
local primes = static_fn(function(n)
  calls = calls + 1
  local found = {}
  for i = 2, n do
    local is_prime = true
    for _, p in ipairs(found) do
      if i % p == 0 then is_prime = false break end
    end
    if is_prime then found[#found + 1] = i end
  end
  return found, #found
end)

-- On the host it is the function.
local list, n = primes(20)
print(n, table.concat(list, " ")) -- expect: 8	2 3 5 7 11 13 17 19

-- In a kernel it runs once, also under a run-time condition; no turn of its loops is counted.
local sums = kernel("sums", function(x)
  local i = threadIdx.x
  if i > 1 then
    local found, count = primes(30)
    local sum = 0
    for k = 1, count do sum = sum + found[k] * i end
    x[i] = sum
  end
end)
local x = zeros(i32, 4)
calls = 0
sums{grid = 1, block = 4}(x)
print(calls, table.concat(x:totable(), " ")) -- expect: 1	0 0 258 387
local long = static_fn(function()
  local s = 0
  for i = 1, 100000 do s = s + (i % 2 == 0 and 1 or 0) end
  return s
end)
kernel("long", function(t) t[0] = long() end){grid = 1, block = 1}(x)
print(x[0]) -- expect: 50000

-- It may do what a kernel may not: assign globals and what it captured, call what is not converted,
-- look into tensors of the host.
local data = arange(i32, 4)
local stripped = load(string.dump(function(v) return v * 2 end, true))
local free = static_fn(function(v)
  calls = calls + v
  rawset(_G, "last", v)
  local sorted = {3, 1, 2}
  table.sort(sorted, function(a, b) return a > b end)
  return stripped(sorted[1]) + data[3]
end)
calls = 0
kernel("free", function(t) t[threadIdx.x] = free(5) end){grid = 1, block = 4}(x)
print(calls, rawget(_G, "last"), table.concat(x:totable(), " ")) -- expect: 5	5	9 9 9 9

-- Afterwards the trace goes on: functions are converted, others are refused.
local function relu(v) if v > 2 then return v end return 0 end
local class = static_fn(function()
  return setmetatable({}, {__call = function(_, v) return relu(v) end})
end)
kernel("on", function(t)
  local object = class()
  local i = threadIdx.x
  t[i] = object(i) + relu(i)
end){grid = 1, block = 4}(x)
print(table.concat(x:totable(), " ")) -- expect: 0 0 0 6
debug.setmetatable("", {
  __index = function(s, key) return key == "twice" and s .. s or string[key] end
})
local twice = static_fn(function(s) return #s.twice end)
local text = kernel("text", function(t)
  t[0] = twice("ab")
  t[1] = #("ab").twice
end)
print(pcall(text{grid = 1, block = 1}, x))
-- expect: false	tests/lua/kernel/static_fn.lua:74: the function (tests/lua/kernel/static_fn.lua:69) was not converted for the kernel: C code or a metatable calls it; call it in the kernel itself or in a helper
debug.setmetatable("", {__index = string})

-- An error in it is the kernel's, at its own line; a kernel that catches it goes on.
local fails = static_fn(function(v) if v > 1 then error("too large") end return v end)
print(pcall(kernel("fails", function(t) t[0] = fails(2) end){grid = 1, block = 1}, x)) -- expect: false	tests/lua/kernel/static_fn.lua:81: too large
kernel("catches", function(t)
  local i = threadIdx.x
  local ok, message = pcall(fails, 2)
  t[i] = (ok and 100 or #message) + fails(1) * i
end){grid = 1, block = 4}(x)
print(table.concat(x:totable(), " ")) -- expect: 44 45 46 47
kernel("coroutines", function(t)
  local co = coroutine.create(function() coroutine.yield(fails(1)) fails(2) end)
  local _, first = coroutine.resume(co)
  local ok = coroutine.resume(co)
  t[threadIdx.x] = first + (ok and 10 or 20) + threadIdx.x
end){grid = 1, block = 4}(x)
print(table.concat(x:totable(), " ")) -- expect: 21 22 23 24

-- Inner functions of kernels, and functions that the kernel gives it, are plain while it runs.
local each = static_fn(function(f, n) for i = 1, n do f(i) end return n end)
kernel("inner", function(t)
  local sum, i = 0, threadIdx.x
  local n = each(function(v) sum = sum + v end, 3)
  local square = static_fn(function(v) return v * v end)
  t[i] = sum * 100 + n * 10 + square(2) + i
end){grid = 1, block = 4}(x)
print(table.concat(x:totable(), " ")) -- expect: 634 635 636 637

-- On the host it may yield.
local yields = static_fn(function(a) return coroutine.yield(a) + 1 end)
local co = coroutine.wrap(function() return yields(1) end)
print(co(), co(5)) -- expect: 1	6

-- Tables in circles, layouts of the kernel that are static, long lists.
local count = static_fn(function(t, l) return #t + size(l) end)
kernel("tables", function(t)
  local ring = {1, 2}
  ring.ring = ring
  t[threadIdx.x] = count(ring, shared(f32, layout{4, 8}).layout) + threadIdx.x
end){grid = 1, block = 4}(x)
print(table.concat(x:totable(), " ")) -- expect: 34 35 36 37

-- What a function of static_fn assigns is the trace's own, as what the kernel assigns: two kernels that count by one
-- function are traced once each. What others assign counts.
do
  local n_calls, by, traces = 0, 1, {n = 0}
  local function log() n_calls = n_calls + 1 end
  local counts = static_fn(function()
    log()
    return by
  end)
  local function counting(y)
    traces.n = traces.n + 1
    y[0] = counts()
  end
  local a, b, y = kernel("a", counting), kernel("b", counting), zeros(i32, 1)
  for _ = 1, 4 do
    a{grid = 1, block = 1}(y)
    b{grid = 1, block = 1}(y)
  end
  print(traces.n, n_calls, y[0]) -- expect: 2	2	1
  by = 5
  a{grid = 1, block = 1}(y)
  print(traces.n, n_calls, y[0]) -- expect: 3	3	5
end
