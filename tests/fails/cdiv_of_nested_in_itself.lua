-- A table that is its own element has no end.
local t = {}
t[1] = t
print(cdiv(t, t))  -- expect error: cdiv: a tuple of more than 4096 elements or 32 levels
