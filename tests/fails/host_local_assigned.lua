-- A local of the host would get a value of the device.
local last
local k = kernel("keeps", function(x)
  last = x[0] -- expect error: 'last' belongs to the host; a kernel cannot assign it
end)
k{grid = 1, block = 32}(zeros(f32, 32))
print(last)
