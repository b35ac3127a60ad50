-- After the number 1 a noun of a message is in the singular, whoever makes the message.
local function message(f, ...) return (select(2, pcall(f, ...)):gsub("^[^\n]-:%d+: ", "")) end

local k = kernel("k", function(x) atomic_add(x) end)
print(message(function() k{grid = 1, block = 1}(zeros(f32, 1)) end))
-- expect: atomic_add: 1 argument; atomic_add(tensor, coordinate, value) was expected
local rows = require "cuttle.rows"
print(message(rows.rms_norm, zeros(f32, row_major{2, 2})))
-- expect: rms_norm: 1 argument; expected 3: x, weight, epsilon
print(message(rows.rms_norm, zeros(f32, row_major{2, 2}), ones(f32, 2)))
-- expect: rms_norm: 2 arguments; expected 3: x, weight, epsilon
local one = kernel("one", function(x) x[0] = 1 end)
print(message(function() one{grid = 1, block = 1}() end))
-- expect: one: the kernel takes 1 argument (x), got 0
print(message(function() one{grid = 1, block = 1}(zeros(f32, 11), 1) end))
-- expect: one: the kernel takes 1 argument (x), got 2
-- A number that ends in 1, a verb and a type stay as they are.
print(message(function() one{grid = 1, block = 2001}(zeros(f32, 1)) end))
-- expect: one: block (2001,1,1) has 2001 threads; expected 1 to 1024, at most 64 in z
print(message(clamp, nil, 0, 1))         -- expect: clamp: argument 1 is nil; a number was expected
