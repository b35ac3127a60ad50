-- The loop of a range has one name.
local k = kernel("count", function(x)
  for i, j in range(4) do x[i] = j end -- expect error: a loop over a range has 2 names, but there is 1; write 'for i in'
end)
k{grid = 1, block = 32}(zeros(i32, 4))
