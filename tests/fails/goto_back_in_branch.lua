-- A jump back inside a branch that threads take or not, whatever its own condition is.
local k = kernel("refused", function(x)
  local i = 0
  if x[0] > 0.0 then
    ::again::
    i = i + 1
    if i < 4 then
      goto again -- expect error: goto again jumps back under a run-time condition; write a while loop
    end
  end
  x[0] = i
end)
k{grid = 1, block = 32}(zeros(f32, 32))
