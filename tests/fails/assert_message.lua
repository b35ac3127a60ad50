local k = kernel("k", function(x)
  assert(x[0] < 10.0, x[0]) -- expect error: assert: the message of a run-time condition is a text, not a run-time value; write printf to show values
end)
k{grid = 4, block = 32}(arange(f32, 32))
