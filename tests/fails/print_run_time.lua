-- print runs once, while tracing, and has no value to show.
local k = kernel("refused", function(x)
  print("x[0]", x[0]) -- expect error: print of a run-time value; this prints while tracing; use printf, or tostring(x) for what is known of x by then
end)
k{grid = 1, block = 32}(zeros(f32, 32))
