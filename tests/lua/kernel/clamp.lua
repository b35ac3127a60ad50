-- clamp(x, lo, hi), on the host and in kernels, of all types that min and max take.
print(clamp(7, 0, 5), clamp(-7, 0, 5), clamp(3, 0, 5), clamp(1.5, 0.0, 1.0)) -- expect: 5	0	3	1.0
print(pcall(clamp, 1, 5, 0)) -- expect: false	clamp: the bounds are 5 and 0; the lower one comes first

local k = kernel("k", function(x, lo, hi)
  x[threadIdx.x] = cast(clamp(x[threadIdx.x], lo, hi), x.dtype)
end)
for _, t in ipairs { f32, i32, u8, i64 } do
  local x = arange(t, 8)
  k{ grid = 1, block = 8 }(x, static(2), static(5))
  print(table.concat(x:totable(), " "))
  -- expect: 2.0 2.0 2.0 3.0 4.0 5.0 5.0 5.0
  -- expect: 2 2 2 3 4 5 5 5
  -- expect: 2 2 2 3 4 5 5 5
  -- expect: 2 2 2 3 4 5 5 5
end
local x = from_table(f32, { 0 / 0, -math.huge, math.huge, 1 })
k{ grid = 1, block = 4 }(x, 0.0, 2.0)
print(table.concat(x:totable(), " ")) -- expect: 2.0 0.0 2.0 1.0
