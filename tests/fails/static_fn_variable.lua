-- A local that changed under a run-time condition is a variable of the kernel.
local k = kernel("captures", function(x)
  local n = 0
  local function count() return n end
  if x[0] > 0.0 then n = 1 end
  local plain = static_fn(function() return count() + n end)
  x[0] = plain() -- expect error: static_fn: the function's upvalue 'count' holds a run-time value; the function runs once, while tracing: capture what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
