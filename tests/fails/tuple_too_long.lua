-- A tuple that is too long is told apart from memory that ran out.
local modes = {}
for i = 1, 4096 do modes[i] = 1 end
layout(modes) -- expect error: layout: argument 1 is a tuple of more than 4095 integers
