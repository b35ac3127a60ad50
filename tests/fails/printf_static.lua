local k = kernel("k", function(x)
  printf("%d", "twelve") -- expect error: printf: %d for argument 2, which is a text; a number was expected
end)
k{grid = 1, block = 1}(zeros(f32, 4))
