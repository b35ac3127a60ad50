local k = kernel("sum", function(t)
  atomic_add(t, 0, 1) -- expect error: atomic_add: no such operation on u8; expected f16, bf16, f32, f64 and integers of 32 or 64 bits
end)
k{grid = 1, block = 32}(zeros(u8, 4))
