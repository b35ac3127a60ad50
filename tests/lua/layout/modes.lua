-- The list of modes of a layout.
local l = L"(2,3,4,5)"
print(group_modes(l, 1, 3), l:take(1, 3))         -- expect: (2,(3,4),5):(1,(2,6),24)	(3,4):(2,6)
print(select(l, 3, 0), select(l, { 0 }))    -- expect: (5,2):(24,1)	(2):(1)
print(l:select(1, 2), l:get_mode(2))            -- expect: (3,4):(2,6)	4:6
print(get_mode("(2,(3,4))", 1, 0))              -- expect: 3:2
print(append("4:1", "3:7"), prepend("4:1", "3:7", 3))  -- expect: (4,3):(1,7)	(3,3,4):(7,7,1)
print(replace("(2,3)", 1, "7:9"), concat("2:1", "3:5"))  -- expect: (2,7):(1,9)	(2,3):(1,5)
