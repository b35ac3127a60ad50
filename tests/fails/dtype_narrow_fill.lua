-- fill narrows nothing by itself.
local k = kernel("fills", function(x, v)
  fill(tile(x, 4, 0), v) -- expect error: fill: bf16 expected, got f32; use cast(x, bf16)
end)
k{grid = 1, block = 1}(zeros(bf16, 4), 1.5)
