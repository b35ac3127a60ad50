-- A function of Lua's library that would run while tracing.
local k = kernel("refused", function(x)
  local function noise(i)
    return math.random(i) -- expect error: math.random of a run-time value; this draws while tracing, the same for all threads; pass a tensor made by rand(dtype, shape)
  end
  x[threadIdx.x] = noise(threadIdx.x)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
