-- Lua counts with floats; a loop of the kernel does not.
local k = kernel("strides", function(x)
  for v = 0.0, x[0], 0.5 do -- expect error: a run-time 'for' counts with integers, got the float 0.0; write a while loop
    x[1] = v
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
