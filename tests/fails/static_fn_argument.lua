-- Plain Lua would take a run-time number for true.
local clamp = static_fn(function(v) if v then return 1.0 end return 0.0 end)
local k = kernel("clamped", function(x)
  local i = threadIdx.x
  x[i] = clamp(x[i]) -- expect error: static_fn: argument 1 is a run-time value; the function runs once, while tracing: give it what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
