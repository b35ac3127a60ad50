-- A function that the kernel gives it keeps the kernel's rules.
local each = static_fn(function(f, n) for i = 1, n do f(i) end end)
local k = kernel("sums", function(x)
  local sum = 0
  if x[0] > 0.0 then
    each(function(v)
      sum = sum + v -- expect error: 'sum' is assigned by an inner function under a run-time condition; return the new value
    end, 3)
  end
  x[0] = sum
end)
k{grid = 1, block = 32}(zeros(f32, 32))
