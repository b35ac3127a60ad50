-- As a parameter.
local k = kernel("refused", function(x)
  local function first(_, t) return t(_) end -- expect error: kernel: '_' is a parameter here and hides the wildcard '_'; give the parameter another name
  clear(first(1, x))
end)
k{grid = 1, block = 32}(zeros(f32, 32))
