local k = kernel("k", function(x)
  setmaxnreg(40)
  setmaxnreg(64) -- expect error: setmaxnreg: 64 registers instead of 40; a warp group changes them once, from the 255 that it begins with
end)
k{grid = 1, block = 128}(zeros(f32, 1))
