-- What was made outside has not been converted.
local numbers = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
local k = kernel("numbered", function(x)
  x[0] = numbers() -- expect error: a coroutine that was made outside of the kernel is resumed in it; make it inside
end)
k{grid = 1, block = 32}(zeros(f32, 32))
