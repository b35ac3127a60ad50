-- A value that is not there, as that of a misspelt field.
local settings = {scale = 2.0}
local k = kernel("missing", function(x)
  x[threadIdx.x] = settings.Scale -- expect error: store to x: f32 expected, got nil
end)
k{grid = 1, block = 32}(zeros(f32, 32))
