local k = kernel("k", function(x)
  printf("%100g", x[0]) -- expect error: printf: '%100' in the format is too long; a width has two digits at most
end)
k{grid = 1, block = 1}(zeros(f32, 4))
