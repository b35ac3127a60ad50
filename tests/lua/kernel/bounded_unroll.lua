-- A numeric for with known bounds is unrolled while tracing up to 64 turns; a longer one is a loop of the
-- kernel.
local function is_loop(f, options)
  local k = kernel("k", f, options)
  local text = k{grid = 1, block = 1}:source(zeros(f32, 512))
  return text:find(" for (", 1, true) ~= nil
end
print(is_loop(function(x) for i = 1, 64 do x[i] = 1 end end)) -- expect: false
print(is_loop(function(x) for i = 1, 65 do x[i] = 1 end end)) -- expect: true
print(is_loop(function(x) for i = 0, 126, 2 do x[i] = 1 end end)) -- expect: false
print(is_loop(function(x) for i = 128, 0, -2 do x[i] = 1 end end)) -- expect: true
print(is_loop(function(x) for i = 1, 0 do x[i] = 1 end end)) -- expect: false
-- Asked for; loops that count in floats; loops of Lua's own iterators.
print(is_loop(function(x) for i in unroll(0, 65) do x[i] = 1 end end)) -- expect: false
print(is_loop(function(x) for v = 0.5, 100 do x[v // 1 | 0] = v end end)) -- expect: false
print(is_loop(function(x)
  for i in ipairs(table.pack(string.byte(("x"):rep(99), 1, -1))) do x[i] = 1 end
end)) -- expect: false
-- Another limit for one kernel, also of its helpers.
local function set(x, n) for i = 1, n do x[i] = i end end
print(is_loop(function(x) set(x, 5) end, {max_unroll = 4})) -- expect: true
print(is_loop(function(x) set(x, 4) end, {max_unroll = 4})) -- expect: false
print(is_loop(function(x) set(x, 300) end, {max_unroll = 300})) -- expect: false
print(is_loop(function(x) set(x, 300) end)) -- expect: true

-- The results are those of the unrolled loop: with breaks, variables, fragments, steps, loops in loops.
local function body(x)
  local sum, last = 0.0, 0
  local r = fragment(f32, 100)
  for i = 99, 0, -1 do r[i] = i * 0.5 end
  for i = 0, 99 do
    sum = sum + r[i]
    if sum > 2000.0 then break end
    last = i
  end
  x[0], x[1] = sum, last
  for i = 2, 200, 2 do
    for j = 0, 1 do x[i + j] = i * 10 + j end
  end
  for i = 202, 300 do
    local v = i
    if i % 3 == 0 then goto continue end
    while v > 202 do v = v // 2 end
    x[i] = v
    ::continue::
  end
end
local a, b = zeros(f32, 512), zeros(f32, 512)
kernel("kept", body){grid = 1, block = 1}(a)
kernel("unrolled", body, {max_unroll = 1000}){grid = 1, block = 1}(b)
print(table.concat(a:totable(), " ") == table.concat(b:totable(), " ")) -- expect: true
print(b[0], b[1], b[2], b[199], b[202]) -- expect: 2002.5	88.0	20.0	1981.0	202.0

-- A while with known conditions: its turns run while tracing. Those that put code into the kernel are bounded, and
-- those that only compute in Lua are not.
local function count(n, x)
  local i = 0
  while i < n do
    x[i] = i * 2
    i = i + 1
  end
end
local function runs(n, options)
  local x, plain = zeros(i32, 512), {}
  kernel("counts", function(t) count(n, t) end, options){grid = 1, block = 1}(x)
  count(n, plain)
  for i = 0, n - 1 do
    if x[i] ~= plain[i] then return false end
  end
  return x[n] == 0
end
print(runs(0), runs(1), runs(64)) -- expect: true	true	true
print(runs(200, {max_unroll = 200})) -- expect: true
print(select(2, pcall(runs, 65)):match("more than 64 iterations put code into the kernel")) -- expect: more than 64 iterations put code into the kernel
print(select(2, pcall(runs, 201, {max_unroll = 200})):match("more than %d+ iterations")) -- expect: more than 200 iterations
local x = zeros(i32, 512)
kernel("dynamic", function(t)
  local i = 0
  while i < dynamic(500) do
    t[i] = i + 1
    i = i + 1
  end
end){grid = 1, block = 1}(x)
print(x[0], x[499], x[500]) -- expect: 1	500	0
kernel("computes", function(t) -- the longest way of Collatz below 30, by Lua alone
  local best, most = 0, 0
  for start = 1, 29 do
    local n, steps = start, 0
    while n ~= 1 do n, steps = n % 2 == 0 and n // 2 or 3 * n + 1, steps + 1 end
    if steps > most then best, most = start, steps end
  end
  t[0], t[1] = best, most
end){grid = 1, block = 1}(x)
print(x[0], x[1]) -- expect: 27	111
kernel("repeats", function(t)
  local i = 0
  repeat
    t[i] = i
    i = i + 1
  until i == 300
end){grid = 1, block = 1}(x)
print(x[299], x[499]) -- expect: 299	500
