local k = kernel("k", function(x)
  local full = mbarrier(4, 1)
  full:arrive() -- expect error: arrive: full is 4 barriers; say which, as in full[i]
end)
k{grid = 1, block = 64}(zeros(f32, 1))
