local x = zeros(f32, 64)
local k = kernel("k", function(x)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  x[threadIdx.x] = s[63 - threadIdx.x]
end)
assert(#tostring(timeline(k:prepare{grid = 1, block = 64}(x))) > 10)
