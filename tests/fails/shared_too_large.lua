-- More shared memory than a block can have, reached by the second tensor.
local k = kernel("large", function(x)
  local a = shared(f64, {128, 128})
  local b = shared(f64, {128, 128}) -- expect error: shared: the kernel's shared tensors take 262144 bytes, but a block on the CPU engine has 232448; make a tile smaller
  x[0] = a[0] + b[0]
end)
k{grid = 1, block = 32}(zeros(f64, 1))
