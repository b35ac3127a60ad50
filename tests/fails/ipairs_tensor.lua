-- Its size may be known at run time only, so ipairs would never end.
local k = kernel("refused", function(x)
  for i, v in ipairs(x) do -- expect error: ipairs of a tensor; this takes a Lua table; write 'for i = 0, size(t) - 1 do' with t[i]
    x[i - 1] = v
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
