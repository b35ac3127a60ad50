-- A kernel writes its results to tensors.
local k = kernel("result", function(x) return x[0] end) -- expect error: a kernel returns no values
print(k{grid = 1, block = 32}(zeros(f32, 32)))
