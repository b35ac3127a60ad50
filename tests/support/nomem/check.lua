local A = rand(f32, {32, 16})
local k = kernel("k", function(n, A)
  local s = shared(f32, {32, 16})
  local t = threadIdx.x
  s[{t, 0}] = A[{t, n}]
  sync_threads()
  A[{t, 1}] = s[{31 - t, 0}]
end)
k{grid = 1, block = 32, check = true}(0, A)
local racy = kernel("racy", function(A)
  local s = shared(f32, 64)
  s[threadIdx.x] = A[{threadIdx.x % 32, 0}]
  A[{threadIdx.x % 32, 1}] = s[63 - threadIdx.x]
end)
local findings = require "cuttle.check".run(function() racy{grid = 1, block = 64}(A) end,
  {call = function(f) return true, f() end})
assert(findings.is_partial or #findings > 0 and findings[1].kind == "race_shared")
