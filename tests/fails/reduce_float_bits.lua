-- An operation that the values do not have.
local k = kernel("k", function(x)
  x[0] = block_reduce(x[0], "xor") -- expect error: ~: integers expected, got f32
end)
k{grid = 1, block = 32}(zeros(f32, 4))
