-- A kernel's arguments have memory; coordinates are made in it.
local k = kernel("k", function(A) print(A) end)
k{grid = 1, block = 1}(identity_tensor(4)) -- expect error: k: argument 1 (A) is a tensor of coordinates; expected one with memory
