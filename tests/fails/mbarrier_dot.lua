local k = kernel("k", function(x)
  local full = mbarrier(4, 1)
  full[0].arrive() -- expect error: arrive: the mbarrier is missing; write full[i]:arrive(...), with a colon
end)
k{grid = 1, block = 64}(zeros(f32, 1))
