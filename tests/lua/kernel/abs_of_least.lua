-- The absolute value of the least integer is itself, as it wraps around: also where a compiler that takes
-- absolute values for never negative would drop what follows.
local k = kernel("k", function(x, y, out, wide)
  local i = threadIdx.x
  out[i] = min(0, abs(x[i]))
  wide[2 * i] = min(0, abs(y[i]))
  wide[2 * i + 1] = cast(cast(abs(x[i]), u64) >> 32, i64)
end)
local out, wide = zeros(i32, 2), zeros(i64, 4)
k{grid = 1, block = 2}(from_table(i32, {-2147483648, -7}), from_table(i64, {math.mininteger, 7}),
  out, wide)
print(out[0], out[1])                     -- expect: -2147483648	0
print(wide[0], wide[1])                   -- expect: -9223372036854775808	4294967295
print(wide[2], wide[3])                   -- expect: 0	0
