-- It would go on for the threads where the condition is false, too.
local k = kernel("numbered", function(x)
  local numbers = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
  if x[threadIdx.x] > 0.0 then
    x[threadIdx.x] = numbers() -- expect error: a coroutine is resumed under a run-time condition; make it under the same one, or resume it before the 'if'
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
