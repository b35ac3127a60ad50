local k = kernel("bits", function(x)
  recast(guard(x), u32)[0] = u32(1) -- expect error: recast: x is guarded, and 13:1 is not known to have a multiple of 2 adjacent elements of f16, which one of u32 takes; pad the tensor, or leave the guard out
end)
k{grid = 1, block = 1}(zeros(f16, 13))
