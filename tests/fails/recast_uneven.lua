local k = kernel("bits", function(x)
  local r = fragment(f16, 7)
  clear(r)
  x[0] = recast(r, u32)[0] -- expect error: recast: r of f16 as u32: its elements do not make a whole number of the larger ones
end)
k{grid = 1, block = 1}(zeros(u32, 4))
