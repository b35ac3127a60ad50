-- An error of C without a place gets the line that was running.
local k = kernel("pairs", function(x)
  for i, v in ipairs(threadIdx.x) do -- expect error: attempt to index a run-time value value
    x[i] = v
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
