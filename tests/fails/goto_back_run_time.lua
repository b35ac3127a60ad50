-- A jump back under a run-time condition is a loop, which Lua has statements for.
local k = kernel("counts", function(x)
  local i = 0
  ::again::
  i = i + 1
  if x[i] > 0.0 then
    goto again -- expect error: goto again jumps back under a run-time condition; write a while loop
  end
end)
k{grid = 1, block = 32}(zeros(f32, 64))
