-- The same of a local that the condition assigns.
local k = kernel("counts", function(x)
  local n = 0
  local function positive() n = n + 1 return x[0] > 0.0 end
  while positive() do -- expect error: the condition of a run-time while changes Lua state; write 'while true do ... if not c then break end'
    x[0] = x[0] - 1.0
  end
  x[1] = n
end)
k{grid = 1, block = 32}(zeros(f32, 32))
