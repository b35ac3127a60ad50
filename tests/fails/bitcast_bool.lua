local k = kernel("bits", function(x)
  x[0] = bitcast(x[1] > 0, u8) -- expect error: bitcast: a bool is true or false, not bits; write where(c, 1, 0)
end)
k{grid = 1, block = 1}(zeros(u8, 4))
