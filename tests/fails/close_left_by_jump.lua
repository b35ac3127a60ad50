-- Threads that return would leave without closing.
local k = kernel("closes", function(x)
  local guard <close> = setmetatable({}, {__close = function() x[0] = 5.0 end})
  if x[threadIdx.x] > 0.0 then return end -- expect error: a run-time jump leaves the to-be-closed local 'guard'; close it outside of what the jump leaves
  x[1] = guard and 1.0 or 0.0
end)
k{grid = 1, block = 32}(zeros(f32, 32))
