-- A number is nothing to go through.
local k = kernel("refused", function(x)
  for i, v in ipairs(threadIdx.x) do -- expect error: ipairs of a run-time value; this takes a Lua table; write 'for i = 0, size(t) - 1 do' with t[i]
    x[i] = v
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
