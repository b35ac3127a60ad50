local A = rand(f32, {32, 16})
local k = kernel("k", function(n, A)
  local s = shared(f32, {32, 16})
  local t = threadIdx.x % 32
  s[{t, 0}] = A[{t, n}]
  sync_threads()
  A[{t, 1}] = s[{t, 0}]
end)
local found = tostring(trace(k:prepare{grid = 1, block = 64}(0, A), {A = {3, 1}}))
assert(#found > 10)
