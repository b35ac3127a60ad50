-- The line is that of the access, in a helper and in a loop of the kernel.
local function put(t, i)
  t[i + 8] = 0.0 -- expect error: out of bounds: write of x at 40, extent 40, by thread (0,0,0) of block (0,0,0)
end
local k = kernel("helped", function(x, n)
  for i in range(n) do
    put(x, 8 * i + threadIdx.x)
  end
end)
k{grid = 1, block = 4}(zeros(f32, 40), 8)
