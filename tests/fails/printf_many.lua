local k = kernel("k", function(x)
  printf("%g", x[0], x[1]) -- expect error: printf: 2 values, but the format asks for 1
end)
k{grid = 1, block = 1}(zeros(f32, 4))
