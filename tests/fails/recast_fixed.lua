-- What recast made of a fragment has its bits, and is only read.
local k = kernel("bits", function(x)
  local r = fragment(f16, 8)
  clear(r)
  local w = recast(r, u32)
  w[0] = u32(1) -- expect error: a store: w has the bits of a fragment (recast), which are only read through it; write to that fragment, or to a copy of w
end)
k{grid = 1, block = 1}(zeros(u32, 4))
