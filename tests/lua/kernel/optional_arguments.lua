-- nil for a parameter that the kernel tests, and static arguments of any kind: each choice is a
-- trace of its own.
local k = kernel("k", function(x, y, bias)
  local v = x[threadIdx.x]
  if bias then v = v + bias[threadIdx.x] end
  y[threadIdx.x] = v
end)
local x, y = arange(f32, 4), zeros(f32, 4)
local function run(...) k{ grid = 1, block = 4 }(x, y, ...) return y[3] end
print(run(nil), run(x), run(nil), run(x), run(nil)) -- expect: 3.0	6.0	3.0	6.0	3.0

-- As often as it is launched, with other tensors, from a launcher, and on checked launches.
local launcher = k:prepare{ grid = 1, block = 4 }(x, y, nil)
fill(y, 0) launcher() launcher()
print(y[3]) -- expect: 3.0
k{ grid = 1, block = 4, check = true }(x, y, nil)
local other = arange(f32, 4)
k{ grid = 1, block = 4 }(other, y, nil)
print(y[2]) -- expect: 2.0

-- It must be given: a missing last argument is a mistake.
print(pcall(run)) -- expect: false	tests/lua/kernel/optional_arguments.lua:9: k: the kernel takes 3 arguments (x, y, bias), got 2

-- A field that a table lacks is nil for the kernel, too.
local fields = kernel("fields", function(t)
  t.y[threadIdx.x] = t.bias and t.bias[threadIdx.x] or 7.0
end)
fields{ grid = 1, block = 4 }({ y = y })
print(y[1]) -- expect: 7.0

-- Who does not test it is told whose nil it is.
local plain = kernel("plain", function(y, v) y[threadIdx.x] = 2.0 * v end)
print(pcall(function() plain{ grid = 1, block = 4 }(y, nil) end))
-- expect: false	tests/lua/kernel/optional_arguments.lua:32: attempt to perform arithmetic on a nil value (local 'v'); argument 2 (v) of the launch is nil, perhaps a misspelt name

-- static: of texts, types, layouts, tables; the numbers of a table are constants.
local chosen = kernel("chosen", function(y, how, t)
  local s = fragment(f32, t.shape)
  local v = how == "max" and 1.0 or 2.0
  s[0] = cast(cast(v / 3.0, t.type), f32)
  for i = 1, t.n do s[0] = s[0] * 2.0 end
  y[threadIdx.x] = s[0]
end)
local function choose(how, t)
  chosen{ grid = 1, block = 4 }(y, static(how), static(t))
  return y[0]
end
print(choose("max", { shape = { 2, 2 }, type = f32, n = 1 })) -- expect: 0.66666668653488
print(choose("min", { shape = { 4, 2 }, type = f16, n = 2 })) -- expect: 2.666015625
print(static("max"), static(f16), static(L"(2,2)"))           -- expect: max	f16	(2,2):(1,2)
print(select(2, pcall(static, y)):match "static: (.*)")       -- expect: argument 1 is a tensor; a number, a boolean, a constant such as a layout, or a table of them was expected
