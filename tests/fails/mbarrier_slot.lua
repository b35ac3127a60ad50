local k = kernel("k", function(x)
  local full = mbarrier(4, 1)
  full[4]:arrive() -- expect error: full[4]: it has 4 barriers, counted from 0
end)
k{grid = 1, block = 64}(zeros(f32, 1))
