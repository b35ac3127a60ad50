-- The same in a copy.
local table_ = zeros(f32, 32)
local k = kernel("captures", function(x)
  copy(table_, x) -- expect error: copy: table_ is a tensor of the host; pass it to the kernel as an argument
end)
k{grid = 1, block = 32}(zeros(f32, 32))
