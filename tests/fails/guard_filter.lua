-- Filters leave out modes, which the guard of a tensor looks at.
local k = kernel("k", function(A)
  clear(filter(tile(guard(A), 4, blockIdx.x))) -- expect error: filter: A is guarded; filter the tensor first, then guard it
end)
k{grid = 2, block = 1}(zeros(f32, 7))
