-- The sizes of a tensor argument are known at run time.
local rows = static_fn(function(l) return size(l, 0) end)
local k = kernel("rows", function(x)
  x[0] = rows(x.layout) -- expect error: static_fn: argument 1 is a layout with run-time sizes; the function runs once, while tracing: give it what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
