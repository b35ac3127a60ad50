-- scale.lua: the script of host.c: x = a * x + b. It only defines the kernel: the host has the
-- data.
kernel("scale", function(a, b, x)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then x[i] = a * x[i] + b end
end)
