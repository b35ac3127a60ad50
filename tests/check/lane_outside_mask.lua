-- A shuffle under a condition, by a mask: the first lane has no lane below it in the mask.
local k = kernel("differences", function(x, y)
  local i = threadIdx.x
  local lanes = ballot(i >= 8)
  if i >= 8 then
    y[i] = x[i] - shfl_up(x[i], 1, {mask = lanes}) -- finds: lane: thread (8,0,0) of block (0,0,0) reads a lane that is not in its mask, and gets an arbitrary value; let it read a lane of the mask, such as its own if there is no other
  end
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
