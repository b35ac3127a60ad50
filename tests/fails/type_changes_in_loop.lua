-- A sum that begins as an integer stays one.
local k = kernel("sums", function(x)
  local sum = 0
  for i = 0, threadIdx.x do
    sum = sum + x[i] -- expect error: 'sum' (line 3) is int but is given float here; start it as 0.0
  end
  x[0] = sum
end)
k{grid = 1, block = 32}(zeros(f32, 32))
