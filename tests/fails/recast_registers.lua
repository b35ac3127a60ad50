-- Registers have no addresses.
local k = kernel("bits", function(x)
  local r = fragment(f16, 8)
  x[0] = recast(r, u32)[0] -- expect error: recast: r of f16 as u32: registers have no addresses; use bitcast on an element
end)
k{grid = 1, block = 1}(zeros(u32, 4))
