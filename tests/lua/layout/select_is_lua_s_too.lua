-- select() keeps its meaning for Lua values.
print(select("#", 1, nil, 3), select(2, "a", "b", "c"))  -- expect: 3	b	c
print(select(-1, "a", "b"))                              -- expect: b
print(select(L"(2,3,4)", 2))                             -- expect: (4):(6)
-- A table is a tuple, and so is what is selected or taken of it; a text stands for a layout.
print(select({256, 384, 64}, 0, 2), select({256, {2, 3}, 64}, 1)) -- expect: (256,64)	((2,3))
print(select({1, 2, _}, {2, 0}), take({1, 2, 3, 4}, 1, 3))         -- expect: (_,1)	(2,3)
print(select("(256,384,64)", 0, 2))                                -- expect: (256,64):(1,98304)
print((select(2, pcall(select, {1, 2}, 2)):gsub("^.-: ", "")))     -- expect: select: there is no mode 2 in (1,2); 0 to 1 were expected
print((select(2, pcall(take, {1, 2}, 1, 4)):gsub("^.-: ", "")))    -- expect: take: there is no mode 2 in (1,2); 0 to 1 were expected
