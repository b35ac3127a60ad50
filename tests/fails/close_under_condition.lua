-- A local is closed while tracing, once: not for the threads where the condition holds.
local k = kernel("closes", function(x)
  if x[threadIdx.x] > 0.0 then
    local guard <close> = setmetatable({}, {__close = function() end}) -- expect error: 'guard' is a to-be-closed local under a run-time condition; declare it outside
    x[0] = guard and 1.0 or 0.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
