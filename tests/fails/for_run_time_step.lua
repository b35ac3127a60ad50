-- Whether a loop counts up or down must be known.
local k = kernel("strides", function(x, step)
  for i = 0, 31, step do -- expect error: the step 'step' of a run-time 'for' may be 0 or negative; its sign must be known: write max(step, 1), pass static(step) to the kernel, or write a while loop
    x[i] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32), 2)
