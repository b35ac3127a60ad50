-- A tensor where a number is stored.
local k = kernel("whole", function(x, y)
  x[threadIdx.x] = y -- expect error: store to x: f32 expected, got a tensor; write t[i] for an element of it
end)
k{grid = 1, block = 32}(zeros(f32, 32), zeros(f32, 32))
