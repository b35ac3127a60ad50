-- Any other function of C says that it runs while tracing.
local k = kernel("refused", function(x)
  x[0] = #os.date("%d", cast(x[1], i32)) -- expect error: bad argument #2 to 'os.date' (number expected, got run-time value); this runs while tracing, with what is known by then
end)
k{grid = 1, block = 32}(zeros(f32, 32))
