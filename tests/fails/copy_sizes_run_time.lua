-- Sizes that are known only at run time agree in one launch and may not in the next.
local k = kernel("sizes", function(x, y)
  copy(x, y) -- expect error: copy: x (64):(1) and y (64):(1) may differ in size: both are known only at run time; tile them first
end)
k{grid = 1, block = 1}(zeros(f32, {64}), zeros(f32, {64}))
