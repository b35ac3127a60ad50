-- A function of C that knows no run-time values: Lua's own words, at the kernel's line.
local k = kernel("random", function(x)
  local function noise(i)
    return math.random(i) -- expect error: bad argument #1 to 'math.random' (number expected, got run-time value)
  end
  x[threadIdx.x] = noise(threadIdx.x)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
