-- Also in the loop that Lua writes with pairs.
local k = kernel("refused", function(x)
  for _, v in ipairs({1.0, 2.0}) do
    fill(x(_), v) -- expect error: kernel: '_' is the variable of a loop here and hides the wildcard '_'; give the loop variable another name
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
