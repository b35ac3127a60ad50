-- A loop of the kernel that nothing leaves.
local k = kernel("spin", function(x)
  while true do -- expect error: this loop has no exit; write 'break' under a condition
    x[0] = x[0] + 1.0
  end
end)
k{grid = 1, block = 1}(zeros(f32, 1))
