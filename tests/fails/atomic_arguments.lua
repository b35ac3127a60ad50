local k = kernel("few", function(t)
  atomic_cas(t, 0, 1) -- expect error: atomic_cas: 3 arguments; atomic_cas(tensor, coordinate, compare, value) was expected
end)
k{grid = 1, block = 32}(zeros(i32, 4))
