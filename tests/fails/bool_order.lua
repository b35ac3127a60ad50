-- Lua does not order booleans.
local k = kernel("order", function(n, a)
  if (threadIdx.x < a) < (threadIdx.x < 3) then -- expect error: attempt to compare two boolean values
    n[threadIdx.x] = 1
  end
end)
k{grid = 1, block = 32}(zeros(i32, 32), 5)
