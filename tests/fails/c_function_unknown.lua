-- Any other function of C says that it runs while tracing.
local k = kernel("refused", function(x)
  x[0] = #os.getenv(cast(x[1], i32)) -- expect error: bad argument #1 to 'os.getenv' (string expected, got run-time value); this runs while tracing, with what is known by then
end)
k{grid = 1, block = 32}(zeros(f32, 32))
