-- A layout is called, not indexed.
local l = layout{4, 8}
local shape = l[1] -- expect error: layout: no element [1]; call l(1) for the index, mode(l, 1) for the mode
print(shape)
