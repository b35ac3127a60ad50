-- '_' as a loop variable is no wildcard any more.
local k = kernel("rows", function(x)
  for _ = 0, 1 do
    clear(x(_, 0)) -- expect error: kernel: '_' is the variable of a loop here and hides the wildcard '_'; give the loop variable another name
  end
end)
k{grid = 1, block = 32}(zeros(f32, {4, 8}))
