local k = kernel("narrow", function(t)
  atomic_add(t, 0, 0.5) -- expect error: atomic_add: i32 expected, got 0.5
end)
k{grid = 1, block = 32}(zeros(i32, 4))
