-- static(x) makes an argument a constant of the kernel: a number or a boolean.
local fill = kernel("fill_static", function(n, x, negate, scale)
  for i = 0, n - 1 do x[i] = negate and -scale * i or scale * i end
end)
local x = zeros(f32, 4)
fill{ grid = 1, block = 1 }(static(4), x, static(false), 2.0)
print(x[3])                                               -- expect: 6.0
fill{ grid = 1, block = 1 }(static(2), x, static(true), static(0.5))
print(x[1], x[3])                                         -- expect: -0.5	6.0
