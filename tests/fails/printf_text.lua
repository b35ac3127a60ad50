local k = kernel("k", function(x)
  printf("%s", x[0]) -- expect error: printf: %s for argument 2, which is of type f32; write %d or %g
end)
k{grid = 1, block = 1}(zeros(f32, 4))
