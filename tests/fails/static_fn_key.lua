-- Keys of tables count, too.
local count = static_fn(function(set) return next(set) ~= nil and 1.0 or 0.0 end)
local k = kernel("counted", function(x)
  local set = {}
  for _, t in ipairs{x} do set[t] = true end
  x[0] = count(set) -- expect error: static_fn: argument 1 holds a tensor of the kernel; the function runs once, while tracing: give it what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
