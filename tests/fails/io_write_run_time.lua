-- So does io.write.
local k = kernel("refused", function(x)
  io.write(x[0], "\n") -- expect error: io.write of a run-time value; this prints while tracing; use printf, or tostring(x) for what is known of x by then
end)
k{grid = 1, block = 32}(zeros(f32, 32))
