-- Also what a kernel has put into a table that the function captured.
local state = {}
local is_first = static_fn(function() return state.i == 0 end)
local k = kernel("captures", function(x)
  state.i = threadIdx.x
  x[state.i] = is_first() and 1.0 or 0.0 -- expect error: static_fn: the function's upvalue 'state' holds a run-time value; the function runs once, while tracing: capture what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
