local k = kernel("bits", function(t)
  atomic_or(t, 0, 1) -- expect error: atomic_or: no such operation on f32; expected integers of 32 or 64 bits
end)
k{grid = 1, block = 32}(zeros(f32, 4))
