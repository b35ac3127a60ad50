-- And over a range.
local k = kernel("refused", function(x)
  for _ in range(4) do
    clear(x(_)) -- expect error: kernel: '_' is the variable of a loop here and hides the wildcard '_'; give the loop variable another name
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
