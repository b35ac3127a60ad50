-- The same, for the second mode and in a helper that a loop calls.
local function column(A, j)
  return tile(A, {4, 6}, {0, j}) -- expect error: tile: extent 100 of mode 1 of A is not a multiple of the tile's 6; pad the tensor or write guard(A)
end
local k = kernel("sixths", function(A, n)
  for j in range(n) do clear(column(A, j)) end
end)
k{grid = 1, block = 1}(zeros(f32, {4, 12}), 2)
k{grid = 1, block = 1}(zeros(f32, {4, 36}), 6)
k{grid = 1, block = 1}(zeros(f32, {4, 100}), 16)
