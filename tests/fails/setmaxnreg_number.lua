local k = kernel("k", function(x)
  setmaxnreg(100) -- expect error: setmaxnreg: 100 registers; a multiple of 8 from 24 to 256 was expected
end)
k{grid = 1, block = 128}(zeros(f32, 1))
