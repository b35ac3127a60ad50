-- select() keeps its meaning for Lua values.
print(select("#", 1, nil, 3), select(2, "a", "b", "c"))  -- expect: 3	b	c
print(select(-1, "a", "b"))                              -- expect: b
print(select(L"(2,3,4)", 2))                             -- expect: (4):(6)
