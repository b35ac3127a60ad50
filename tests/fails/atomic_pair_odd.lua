local k = kernel("pair", function(t)
  atomic_add(t, threadIdx.x, 1, 2) -- expect error: atomic_add: two elements of t at once must begin at an even offset, and this one is not known to; write 2 * i for the coordinate, or add them one by one
end)
k{grid = 1, block = 32}(zeros(f16, 64))
