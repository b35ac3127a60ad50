-- A rank that is known to be none.
local k = kernel("reach", function(x)
  local s = shared(f32, 32)
  x[0] = remote(s, 2)[0] -- expect error: remote: rank 2 is out of range; 0 to 1 were expected
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, 32))
