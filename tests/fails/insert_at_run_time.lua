-- A place in a Lua table cannot be computed by the kernel.
local k = kernel("refused", function(x)
  local t = {1.0, 2.0}
  table.insert(t, threadIdx.x + 1, 3.0) -- expect error: table.insert of a run-time value; places in a Lua table must be known while tracing; use a tensor, or unroll the loop
  x[0] = t[1]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
