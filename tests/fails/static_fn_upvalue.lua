-- What the function captured is looked at as well.
local k = kernel("captures", function(x)
  local i = threadIdx.x
  local is_first = static_fn(function() return i == 0 end)
  x[i] = is_first() and 1.0 or 0.0 -- expect error: static_fn: the function's upvalue 'i' is a run-time value; the function runs once, while tracing: capture what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
