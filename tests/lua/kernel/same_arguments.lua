-- A configuration that is called again and again reads what differs: numbers, tensors, captures, how
-- many there are.
local f = 1.0
local k = kernel("put", function(t, v, n) if threadIdx.x < n then t[threadIdx.x] = v * f end end)
local c = k{grid = 1, block = 4}
local a, b = zeros(f32, 4), zeros(f32, 4)
c(a, 1.0, 4)
c(a, 2.0, 4)
c(a, 3.0, 2)
print(table.concat(a:totable(), " "))          -- expect: 3.0 3.0 2.0 2.0
c(b, 5.0, 4)
c(a, 7.0, 1)
print(table.concat(b:totable(), " "))          -- expect: 5.0 5.0 5.0 5.0
print(table.concat(a:totable(), " "))          -- expect: 7.0 3.0 2.0 2.0
c(a, 1, 4)
print(table.concat(a:totable(), " "))          -- expect: 1.0 1.0 1.0 1.0
f = 2.0
c(a, 1, 4)
print(table.concat(a:totable(), " "))          -- expect: 2.0 2.0 2.0 2.0
print(pcall(c, a, 1))                          -- expect: false	tests/lua/kernel/same_arguments.lua:20: put: the kernel takes 3 arguments (t, v, n), got 2
print(pcall(c, a, nil, 3))                     -- expect: false	tests/lua/kernel/same_arguments.lua:4: attempt to perform arithmetic on a nil value (local 'v'); argument 2 (v) of the launch is nil, perhaps a misspelt name
c(a, 4.0, 4)
print(table.concat(a:totable(), " "))          -- expect: 8.0 8.0 8.0 8.0
for i = 1, 300 do c(zeros(f32, 4), i * 1.0, 4) end
local fresh = zeros(f32, {4})
c(fresh, 1.5, 4)
print(fresh[3])                                -- expect: 3.0
b:close()
print((select(2, pcall(c, b, 1.0, 4)):gsub("^.-: ", ""))) -- expect: put: argument 1 (t) is closed; its memory was given back

-- What is closed or collected between two calls: the argument itself, or something else.
local twice = kernel("twice", function(t) t[threadIdx.x] = t[threadIdx.x] * 2.0 end)
twice = twice{grid = 1, block = 4}
local kept, other = ones(f32, 4), ones(f32, 4)
for _ = 1, 3 do twice(kept) end
other:close()
twice(kept)
twice(kept)
for _ = 1, 5 do
  for i = 1, 20 do
    local t = full(f32, 4, i)
    twice(t)
    assert(t[3] == 2 * i)
    if i % 4 == 0 then collectgarbage() end
  end
  twice(kept)
end
print(kept[0])                                 -- expect: 1024.0
kept:close()
print((select(2, pcall(twice, kept)):gsub("^.-: ", ""))) -- expect: twice: argument 1 (t) is closed; its memory was given back
print((select(2, pcall(twice, io.stdout)):match "argument 1 %(t%) is [^;]*")) -- expect: argument 1 (t) is a FILE*

-- Many captured values of all kinds, each of which changes once.
local v = {1, 2.5, true, "text", {}, print}
local a1, a2, a3, a4, a5, a6 = table.unpack(v)
local b1, b2, b3, b4, b5, b6 = table.unpack(v)
local traces = {n = 0}
local many = kernel("many", function(t)
  traces.n = traces.n + 1
  local list = {a1, a2, a3, a4, a5, a6, b1, b2, b3, b4, b5, b6}
  t[0] = #list
end){grid = 1, block = 1}
many(a)
local function again()
  many(a)
  many(a)
  local before = traces.n
  many(a)
  return before == traces.n and traces.n
end
print(again())                                 -- expect: 1
a1 = 1.0 print(again())                        -- expect: 2
a2 = -2.5 print(again())                       -- expect: 3
a3 = false print(again())                      -- expect: 4
a4 = ("x"):rep(100) print(again())             -- expect: 5
a4 = ("x"):rep(99) .. "y" print(again())       -- expect: 6
a5, b5 = {}, {} print(again())                 -- expect: 7
a6, b6 = nil, type print(again())              -- expect: 8
b1, b2 = "1", 0.0 print(again())               -- expect: 9
b2 = -0.0 print(again())                       -- expect: 10
b3, b4 = 0, "tex" print(again())               -- expect: 11
b4 = "text" print(again())                     -- expect: 12
b4 = "tex" print(again())                      -- expect: 12

-- Configurations that are called once each: the kernel's last arguments are compared, and a block or another option
-- makes a difference, also if the table inherits it.
local seen = kernel("seen", function(t, n)
  if threadIdx.x == 0 then t[0], t[1] = blockDim.x * 1.0, n * 1.0 end
end)
local s, u = zeros(f32, 2), zeros(f32, 2)
local function shown(t) return ("%.0f %.0f"):format(t[0], t[1]) end
for i = 1, 4 do seen{grid = 1, block = 32}(s, i) end
print(shown(s))                                -- expect: 32 4
seen{grid = 1, block = 64}(s, 5)
print(shown(s))                                -- expect: 64 5
seen{grid = 1, block = 64}(u, 6)
print(shown(s), shown(u))                      -- expect: 64 5	64 6
seen{grid = 2, block = 64}(s, 7.5)
local inherited = {block = 96, pdl = false, smem = 64}
seen(setmetatable({grid = 1}, {__index = inherited}))(u, 9)
print(shown(s), shown(u))                      -- expect: 64 8	96 9
inherited.pdl = true
print((select(2, pcall(seen(setmetatable({grid = 1}, {__index = inherited})), u, 1)):match "pdl = %a+")) -- expect: pdl = true
print((select(2, pcall(seen{grid = 1, block = 32}, s)):gsub("^.-: ", ""))) -- expect: seen: the kernel takes 2 arguments (t, n), got 1
for i = 1, 3 do seen{grid = 1, block = 32}(s, i) end
print(shown(s))                                -- expect: 32 3
s:close()
print((select(2, pcall(seen{grid = 1, block = 32}, s, 1)):gsub("^.-: ", ""))) -- expect: seen: argument 1 (t) is closed; its memory was given back
