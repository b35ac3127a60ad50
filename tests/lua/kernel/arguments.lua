-- What numbers become as arguments: an integer is i32 if it fits, else i64; a float f32; f64(x),
-- i64(x) and static(x) say otherwise.
local function show(...)
  local out = {}
  local k = kernel("kinds", function(t, ...)
    local n = select("#", ...)
    for i = 1, n do
      local v = (select(i, ...))
      out[i] = tostring(v):gsub(" %.%.%.%[%d+%]$", "")
    end
  end)
  k{grid = 1, block = 1}(zeros(f32, 1), ...)
  print(table.concat(out, ", "))
end
show(1, -1, 2147483647, -2147483648)   -- expect: run-time i32, run-time i32, run-time i32, run-time i32
show(2147483648, -2147483649)          -- expect: run-time i64, run-time i64
show(1.0, 1e300, 0/0)                  -- expect: run-time f32, run-time f32, run-time f32
show(f64(1), f64(1.5), f32(1), i64(1), i32(1)) -- expect: run-time f64, run-time f64, run-time f32, run-time i64, run-time i32
show(true, false, bool(true))          -- expect: run-time bool, run-time bool, run-time bool
show(static(16), static(1.5), static(true), static(false)) -- expect: 16, 1.5, true, false

-- Values arrive.
local ints, floats, doubles = zeros(i64, 4), zeros(f32, 4), zeros(f64, 4)
kernel("values", function(ints, floats, doubles, a, b, c, d, e, f)
  ints[0] = a
  ints[1] = b
  floats[0] = c
  floats[1] = where(d, 1.0, 2.0)
  doubles[0] = e
  doubles[1] = f
end){grid = 1, block = 1}(ints, floats, doubles, -7, 1 << 40, 0.1, true, f64(0.1), static(0.25))
print(ints[0], ints[1])                -- expect: -7	1099511627776
print(floats[0] == f32(0.1).value, floats[1]) -- expect: true	1.0
print(doubles[0], doubles[1])          -- expect: 0.1	0.25

-- A static number bounds loops and sizes memory; a run-time one does not.
local out = zeros(f32, 1)
local k = kernel("sized", function(t, n)
  local s = shared(f32, {n})
  for i = 0, n - 1 do s[i] = i + 0.0 end
  local sum = 0.0
  for i = 0, n - 1 do sum = sum + s[i] end
  t[0] = sum
end)
k{grid = 1, block = 1}(out, static(5))
print(out[0])                          -- expect: 10.0
print(pcall(k{grid = 1, block = 1}, out, 5)) -- expect: false	tests/lua/kernel/arguments.lua:39: shared: the shape must be static, but this one holds run-time values; use numbers of the script, static(16) or static_mode(t, mode) in the launch, or extents under kernel(name, fn, {static_shapes = true})

-- A tensor's alignment, name and type are those of the argument; one of `...` is called by its place there.
kernel("names", function(first, ...)
  print(first)                         -- expect: tensor first f32 ?:0 in global memory
  print((...))                         -- expect: tensor ...[1] i64 ?:1 in global memory
end){grid = 1, block = 1}(out, ints)
