-- What exists only in a kernel does not in plain Lua, whoever calls it.
local first = static_fn(function()
  return threadIdx.x == 0 -- expect error: 'threadIdx' exists only inside a kernel; a function of static_fn runs outside of it, while tracing
end)
local k = kernel("firsts", function(x) x[0] = first() and 1.0 or 0.0 end)
k{grid = 1, block = 32}(zeros(f32, 32))
