local k = kernel("k", function(x)
  printf("%d", x[0]) -- expect error: printf: %d for argument 2, which is of type f32; write %g, or cast(x, i32)
end)
k{grid = 1, block = 1}(zeros(f32, 4))
