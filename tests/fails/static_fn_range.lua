-- A range is a loop of the kernel, which needs a converted function.
local sum = static_fn(function(r) local s = 0 for i in r do s = s + i end return s end)
local k = kernel("sums", function(x)
  x[0] = sum(range(0, 4)) -- expect error: static_fn: argument 1 is a range of the kernel; the function runs once, while tracing: give it what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
