local t = zeros(i32, 4)
local k = kernel("host", function()
  atomic_add(t, 0, 1) -- expect error: atomic_add: t is a tensor of the host; pass it to the kernel as an argument
end)
k{grid = 1, block = 32}()
