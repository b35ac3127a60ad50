-- Nor can the coroutine of an earlier trace go on.
local kept = {}
local first = kernel("first", function(x)
  kept.next = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end)
  x[0] = kept.next()
end)
first{grid = 1, block = 32}(zeros(f32, 32))
local second = kernel("second", function(x)
  x[0] = kept.next() -- expect error: a coroutine that was made outside of the kernel is resumed in it; make it inside
end)
second{grid = 1, block = 32}(zeros(f32, 32))
