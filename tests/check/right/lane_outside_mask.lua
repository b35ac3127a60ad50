-- The first lane of the mask reads itself.
local k = kernel("differences", function(x, y)
  local i = threadIdx.x
  local lanes = ballot(i >= 8)
  if i >= 8 then
    y[i] = x[i] - shfl_idx(x[i], max(i - 1, 8), {mask = lanes})
  end
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
