-- A count of turns needs Lua's numeric for, or range.
local k = kernel("refused", function(x, n)
  for i in n do -- expect error: 'for ... in' of a run-time value; write 'for i = 0, n - 1 do'
    x[i] = 0.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32), 8)
