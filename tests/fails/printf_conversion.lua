local k = kernel("k", function(x)
  printf("%5.2q", x[0]) -- expect error: printf: '%5.2q' in the format is no conversion; expected %d %i %u %x %o %c %f %e %g %a %s or %%
end)
k{grid = 1, block = 1}(zeros(f32, 4))
