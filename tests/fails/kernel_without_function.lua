-- kernel() with no function, as after a misspelt name.
local bodies = {}
local k = kernel("k", bodies.fill) -- expect error: kernel: the function is missing; write kernel("name", function(...) end)
k{grid = 1, block = 1}()
