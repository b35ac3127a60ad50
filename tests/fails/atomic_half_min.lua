local k = kernel("smallest", function(t)
  atomic_min(t, 0, 1) -- expect error: atomic_min: no such operation on f16; expected f32, f64 and integers of 32 or 64 bits
end)
k{grid = 1, block = 32}(zeros(f16, 4))
