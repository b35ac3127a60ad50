local k = kernel("k", function(x)
  local full = mbarrier(2, 1)
  full[1]:sync() -- expect error: full has no method 'sync'; it has arrive, arrive_expect_tx, expect_tx, wait and test
end)
k{grid = 1, block = 64}(zeros(f32, 1))
