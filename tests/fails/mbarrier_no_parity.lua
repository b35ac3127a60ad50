local k = kernel("k", function(x)
  local full, state = mbarrier(4, 1), {}
  full[0]:wait(state.parity) -- expect error: wait: its argument is nil; the parity of a phase, 0 or 1, was expected
end)
k{grid = 1, block = 64}(zeros(f32, 1))
