local k = kernel("k", function(x)
  printf("%g %g", x[0]) -- expect error: printf: the format asks for 2 values, but there are 1
end)
k{grid = 1, block = 1}(zeros(f32, 4))
