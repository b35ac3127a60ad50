-- A coroutine cannot be left in the middle of a branch of the kernel.
local k = kernel("yields", function(x)
  local next_value = coroutine.wrap(function()
    if x[0] > 0.0 then
      coroutine.yield(1) -- expect error: coroutine.yield inside a run-time if or loop; yield outside of it, and give the value on
    end
  end)
  x[0] = next_value()
end)
k{grid = 1, block = 32}(zeros(f32, 32))
