local k = kernel("k", function()
  local a, b = fragment(f32, 4), fragment(f32, 5)
  transform(a, b, function(v) return v end) -- expect error: transform: 4 and 5 have different sizes
end)
k{grid = 1, block = 32}()
