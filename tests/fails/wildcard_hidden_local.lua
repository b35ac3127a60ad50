-- As a local.
local k = kernel("refused", function(x)
  local _, n = 1, 2
  clear(x(_)) -- expect error: kernel: '_' is a local here and hides the wildcard '_'; give the local another name
  x[0] = n
end)
k{grid = 1, block = 32}(zeros(f32, 32))
