-- Helpers from another file, from texts and from closures are converted as the kernel is.
package.path = "tests/support/?.lua;" .. package.path
local helpers = require "kernel_helpers"

local x, y = from_table(f32, {-3.0, 0.25, 0.5, 9.0}), zeros(f32, 4)
kernel("polynomial", function(x, y)
  local i = helpers.grid:index()
  y[i] = helpers.horner({1.0, 2.0, 3.0}, helpers.clamp(x[i], 0.0, 1.0))
end){grid = 2, block = 2}(x, y)
print(y[0], y[1], y[2], y[3]) -- expect: 1.0	1.6875	2.75	6.0

-- A function of a loaded text: with its own name, as its own name, and the text itself as a kernel.
local text = "return function(v) if v > 1.0 then return v * 2.0 end return v end"
local scale = load(text, "=scale.lua")()
kernel("scaled", function(x, y)
  y[threadIdx.x] = scale(x[threadIdx.x])
end){grid = 1, block = 4}(x, y)
print(y[0], y[3]) -- expect: -3.0	18.0
local whole = kernel("whole", load [[
  local x, y = ...
  if threadIdx.x > 0 then y[threadIdx.x] = -x[threadIdx.x] end
]])
whole{grid = 1, block = 4}(x, y)
print(y[0], y[3]) -- expect: -3.0	-9.0

-- Kernels made from texts in a loop, each with its own operation.
local out = zeros(f32, 1)
for _, op in ipairs {"+", "-", "*", "/"} do
  local f = load(("return function(t, a, b) t[0] = a %s b end"):format(op))()
  kernel(f){grid = 1, block = 1}(out, 6.0, 1.5)
  print(op, out[0])
end
-- expect: +	7.5
-- expect: -	4.5
-- expect: *	9.0
-- expect: /	4.0

-- Two functions on one line; functions as arguments of helpers; recursion that ends statically.
local twice, thrice = function(v) return v + v end, function(v) return v + v + v end
local function apply(f, v, n) return n == 0 and v or apply(f, f(v), n - 1) end
kernel("apply", function(t, v)
  t[0] = apply(twice, v, 3) + apply(thrice, v, 2)
end){grid = 1, block = 1}(out, 1.0)
print(out[0]) -- expect: 17.0

-- A message from a text's kernel names the text and its line.
local bad = load("return function(x)\n  x[{0, 1}] = 1.0\nend")()
print(pcall(kernel("bad", bad){grid = 1, block = 1}, x)) -- expect: false	[string "return function(x)..."]:2: store to x: crd2idx: coordinate (0,1) does not fit shape ?: it has 2 modes, not 1; write an integer, or a tuple nested like the shape
