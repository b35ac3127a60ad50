-- Accesses to narrow elements are checked as all others are.
local outside = kernel("outside", function(s)
  s[threadIdx.x + 20] = u8(1)
end) { grid = 1, block = 32 }
local _, message = pcall(outside, zeros(u8, 40))
print((message:gsub("^.-: ", "")))
-- expect: out of bounds: write of s at 40, extent 40, by thread (20,0,0) of block (0,0,0)
