-- A tiler inside a nested mode: the part is named.
local k = kernel("nested", function(A)
  local s = shared(f32, layout"(M=(m0=8,m1=6),K=8)")
  clear(tile(s, {{4, 4}, 8}, {0, 0})) -- expect error: tile: extent 6 of mode 0 (m1) of s is not a multiple of the tile's 4; pad the tensor or write guard(s)
  A[0] = s[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
