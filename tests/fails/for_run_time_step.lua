-- Whether a loop counts up or down must be known.
local k = kernel("strides", function(x, step)
  for i = 0, 31, step do -- expect error: the step of a run-time 'for' must be static or known to be positive; write a while loop
    x[i] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32), 2)
