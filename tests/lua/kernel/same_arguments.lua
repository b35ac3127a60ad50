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
print(pcall(c, a, nil, 3))                     -- expect: false	tests/lua/kernel/same_arguments.lua:21: put: argument 2 (v) is nil; a tensor, a number, a boolean or a table of these was expected
c(a, 4.0, 4)
print(table.concat(a:totable(), " "))          -- expect: 8.0 8.0 8.0 8.0
for i = 1, 300 do c(zeros(f32, 4), i * 1.0, 4) end
local fresh = zeros(f32, {4})
c(fresh, 1.5, 4)
print(fresh[3])                                -- expect: 3.0
close(b)
print((select(2, pcall(c, b, 1.0, 4)):gsub("^.-: ", ""))) -- expect: put: argument 1 (t) is closed; its memory was given back
