-- Two coordinates for a vector.
local k = kernel("rank", function(x)
  x[{threadIdx.x, 0}] = 1.0 -- expect error: store to x: crd2idx: coordinate (?,0) does not fit shape 32; give an integer, or a tuple nested like the shape
end)
k{grid = 1, block = 32}(zeros(f32, 32))
