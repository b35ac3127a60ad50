-- A tile larger than what it divides.
local k = kernel("larger", function(out)
  local s = shared(f32, {64, 8})
  copy(tile(s, {128, 8}, {0, 0}), out) -- expect error: tile: tiler (128,8) is larger than s (64,8):(1,64) in mode 0: 128 > 64; choose a smaller tile or write guard(s)
end)
k{grid = 1, block = 32}(zeros(f32, {64, 8}))
