local k = kernel("narrow", function(x)
  copy(cast(x, f16), x) -- expect error: cast: x 8:1 has a dynamic shape; tile it first, or trace the kernel with {static_shapes = true}
end)
k{grid = 1, block = 1}(zeros(f32, 8))
