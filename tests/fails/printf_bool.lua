local k = kernel("k", function(x)
  printf("%d %d", 1, x[0] > 0.0) -- expect error: printf: %d for argument 3, which is of type bool; write %s
end)
k{grid = 1, block = 1}(zeros(f32, 4))
