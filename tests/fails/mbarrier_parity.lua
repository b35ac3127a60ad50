local k = kernel("k", function(x)
  local full = mbarrier(2, 1)
  full[1]:wait(2) -- expect error: wait: parity 2 is out of range; 0 to 1 were expected
end)
k{grid = 1, block = 64}(zeros(f32, 1))
