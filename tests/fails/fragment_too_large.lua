-- A fragment is for registers.
local k = kernel("large", function(x)
  local r = fragment(f32, {512, 512}) -- expect error: fragment: (512,512):(1,512) has 262144 elements for each thread; at most 65536 were expected, and more than 255 registers are slow
  copy(r, x)
end)
k{grid = 1, block = 32}(zeros(f32, {512, 512}))
