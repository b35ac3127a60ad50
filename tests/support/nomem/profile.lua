local A = rand(f32, {32, 16})
local k = kernel("k", function(n, A)
  local s = shared(f32, {32, 16})
  local t = threadIdx.x % 32
  s[{t, 0}] = A[{t, n}]
  sync_threads()
  A[{t, 1}] = s[{t, 0}]
end)
local p = profile(k:prepare{grid = 2, block = 64}(0, A))
assert(p.kernels[1].name == "k" and #p:json() > 100)
