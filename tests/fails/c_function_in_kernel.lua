-- A function of Lua's library that would run while tracing.
local k = kernel("refused", function(x)
  local function noise(i)
    return math.random(i) -- expect error: math.random runs once in a kernel, while it is traced: its result would be one constant, the same for all threads and launches; draw before the launch and pass the number, or a tensor made by rand(dtype, shape), as an argument
  end
  x[threadIdx.x] = noise(threadIdx.x)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
