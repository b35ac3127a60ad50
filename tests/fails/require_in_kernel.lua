-- Modules run on the host.
local k = kernel("loads", function(x)
  local tiles = require "tiles_of_nobody" -- expect error: require: 'tiles_of_nobody' is loaded inside a kernel; load it before the kernel
  x[0] = tiles.first
end)
k{grid = 1, block = 32}(zeros(f32, 32))
