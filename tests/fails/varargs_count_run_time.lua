-- How many arguments there are, and which one is chosen, is known while tracing.
local k = kernel("refused", function(x)
  x[0] = table.unpack({1.0, 2.0}, threadIdx.x) -- expect error: table.unpack of a run-time value; places in a Lua table must be known while tracing; use a tensor, or unroll the loop
end)
k{grid = 1, block = 32}(zeros(f32, 32))
