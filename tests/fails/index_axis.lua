-- threadIdx has three axes.
local k = kernel("axes", function(x)
  x[threadIdx.w] = 1.0 -- expect error: threadIdx: it has x, y and z, not w
end)
k{grid = 1, block = 32}(zeros(f32, 32))
