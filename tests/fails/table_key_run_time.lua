-- The key of a table constructor, too, must be known while tracing.
local k = kernel("keys", function(x)
  local i = threadIdx.x
  local t = {2.0, [i] = 5.0} -- expect error: a Lua table is indexed by a run-time value; use a tensor, or unroll the loop
  x[i] = t[1]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
