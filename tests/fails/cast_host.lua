local t = zeros(f32, 8)
local k = kernel("narrow", function(x)
  copy(cast(t, f16), x) -- expect error: cast: t is a tensor of the host; pass it to the kernel as an argument
end)
k{grid = 1, block = 1}(zeros(f32, 8))
