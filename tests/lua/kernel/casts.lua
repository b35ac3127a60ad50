-- cast and the types as functions: floats to integers truncate and saturate, NaN becomes 0; bools
-- become 0 or 1; integers wrap around.
local function convert(from, to, inputs)
  local x, y = from_table(from, inputs), zeros(to, #inputs)
  kernel(function(x, y)
    y[threadIdx.x] = cast(x[threadIdx.x], to)
  end){grid = 1, block = #inputs}(x, y)
  local texts = {}
  for i = 0, #inputs - 1 do texts[i + 1] = tostring(y[i]) end
  print(table.concat(texts, " "))
end
local inf <const> = math.huge
convert(f32, i32, {1.9, -1.9, 0.5, -0.5, 3e9, -3e9, inf, -inf, 0/0}) -- expect: 1 -1 0 0 2147483647 -2147483648 2147483647 -2147483648 0
convert(f64, i32, {2147483647.0, 2147483648.0, -2147483649.0})       -- expect: 2147483647 2147483647 -2147483648
convert(f32, i64, {1.9, -1.9, 3e9, 1e19, -1e19, 0/0})                -- expect: 1 -1 3000000000 9223372036854775807 -9223372036854775808 0
convert(f64, i64, {2.0 ^ 53, 9.3e18, -inf})                          -- expect: 9007199254740992 9223372036854775807 -9223372036854775808
convert(i32, f32, {16777217, -16777217, 2147483647})                 -- expect: 16777216.0 -16777216.0 2147483648.0
convert(i32, f64, {16777217, 2147483647})                            -- expect: 16777217.0 2147483647.0
convert(i64, i32, {1 << 32, (1 << 32) + 5, -1, 1 << 31})             -- expect: 0 5 -1 -2147483648
convert(i32, i64, {-1, 2147483647})                                  -- expect: -1 2147483647
convert(i64, f32, {(1 << 24) + 1, (1 << 62) + 1})                    -- expect: 16777216.0 4.6116860184274e+18
convert(f64, f32, {0.1, 1e300, -1e300, 1e-300})                      -- expect: 0.10000000149012 inf -inf 0.0
convert(f32, f64, {0.5, -inf})                                       -- expect: 0.5 -inf
convert(bool, i32, {true, false})                                    -- expect: 1 0
convert(bool, f32, {true, false})                                    -- expect: 1.0 0.0
convert(i32, bool, {0, 1, -5})                                       -- expect: false true true
convert(f32, bool, {0.0, -0.0, 0.5, 0/0})                            -- expect: false false true true

-- The types as functions are the same; a constant is converted while tracing.
local t = zeros(i32, 3)
kernel("functions", function(t, x)
  t[0] = i32(x)
  t[1] = i32(2.75)
  t[2] = cast(-2.75, i32)
end){grid = 1, block = 1}(t, 7.9)
print(t[0], t[1], t[2])                                              -- expect: 7	2	-2

-- What is exact needs no cast: a number stored in a wider type, an integer in a float.
local f, d, l = zeros(f32, 2), zeros(f64, 2), zeros(i64, 2)
kernel("implicit", function(f, d, l, i, x)
  f[0] = i
  f[1] = 3
  d[0] = x
  d[1] = i
  l[0] = i
  l[1] = i + 1
end){grid = 1, block = 1}(f, d, l, 7, 0.5)
print(f[0], f[1], d[0], d[1], l[0], l[1])                            -- expect: 7.0	3.0	0.5	7.0	7	8
