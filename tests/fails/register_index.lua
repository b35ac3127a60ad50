-- Registers have no addresses.
local k = kernel("indexed", function(x)
  local r = fragment(f32, {4})
  clear(r)
  x[threadIdx.x] = r[threadIdx.x % 4] -- expect error: register tensor 'r' is indexed by a run-time value; registers have no addresses: use static indices, or keep the data in shared memory
end)
k{grid = 1, block = 32}(zeros(f32, 32))
