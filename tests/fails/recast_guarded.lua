local k = kernel("bits", function(x)
  recast(guard(x), u32)[0] = u32(1) -- expect error: recast: x is guarded; write guard(recast(t, u32))
end)
k{grid = 1, block = 1}(zeros(f16, 12))
