-- A misspelt option of a loop.
local k = kernel("loop", function(x, n)
  for i in range(0, n, {unrol = 4}) do -- expect error: range: option 'unrol' is unknown; expected unroll
    x[i] = 1.0
  end
end)
k{grid = 1, block = 1}(zeros(f32, 8), 8)
