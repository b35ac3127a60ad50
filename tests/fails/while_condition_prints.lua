-- The same of what the world can see.
local k = kernel("noisy", function(x)
  while x[0] > (io.write("") and 0.0) do -- expect error: the condition of a run-time while changes Lua state; write 'while true do ... if not c then break end'
    x[0] = x[0] - 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
