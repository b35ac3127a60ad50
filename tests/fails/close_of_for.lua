-- A generic for may have a value to be closed.
local k = kernel("closes", function(x)
  for i in pairs{1.0}, nil, nil, setmetatable({}, {__close = function() end}) do -- expect error: a 'for' with a closing value cannot run in a kernel; close it behind the loop
    x[i] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
