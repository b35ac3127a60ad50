local k = kernel("bits", function(x)
  local t = tile(x, 3, blockIdx.x)
  recast(t, u32)[0] = u32(1) -- expect error: recast: t of f16 as u32: it does not begin at a multiple of the larger element for certain
end)
k{grid = 1, block = 1}(zeros(f16, 12))
