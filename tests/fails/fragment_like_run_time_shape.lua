-- Registers need a shape that is known while tracing.
local k = kernel(function(g)
  local r = fragment_like(g(_, 0)) -- expect error: fragment_like: g (8):(1) has a dynamic shape; tile it first, or trace the kernel with {static_shapes = true}
  copy(g(_, 0), r)
end)
k{grid = 1, block = 1}(zeros(f32, {8, 16}))
