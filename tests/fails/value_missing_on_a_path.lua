-- A local that gets its first value in one branch only.
local k = kernel("paths", function(x)
  local v
  if x[0] > 0.0 then v = 1.0 end
  x[0] = v -- expect error: 'v' has no value on some path to here; give it one where it is declared
end)
k{grid = 1, block = 32}(zeros(f32, 32))
