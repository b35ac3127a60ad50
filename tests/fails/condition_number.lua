-- C's habit: a number as a condition.
local k = kernel("odd", function(n)
  if threadIdx.x & 1 then -- expect error: 'if' tests a run-time int, which Lua counts as true even when it is 0; write 'x ~= 0'
    n[threadIdx.x] = 1
  end
end)
k{grid = 1, block = 32}(zeros(i32, 32))
