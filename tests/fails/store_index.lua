-- threadIdx is what the launch says.
local function set_x(index, i) index.x = i end -- expect error: threadIdx cannot be assigned
local k = kernel("refused", function(x)
  set_x(threadIdx, 0)
  x[threadIdx.x] = 1.0
end)
k{grid = 1, block = 32}(zeros(f32, 32))
