local k = kernel("flag", function(t)
  atomic_exch(t, 0, true) -- expect error: atomic_exch: no such operation on bool; expected f32, f64 and integers of 32 or 64 bits
end)
k{grid = 1, block = 32}(zeros(bool, 4))
