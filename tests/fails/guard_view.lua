-- Another layout of the memory would not show what is outside.
local k = kernel("k", function(A)
  local t = tile(guard(A), 4, blockIdx.x)
  clear(view(t, {2, 2})) -- expect error: view: tiles of t may overhang, which another layout would not show; view the tensor first, then guard it
end)
k{grid = 2, block = 1}(zeros(f32, 7))
