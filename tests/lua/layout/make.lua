-- layout() takes shapes and strides as tables, numbers and text.
print(layout({4, 8}, {8, 1}))             -- expect: (4,8):(8,1)
print(layout{4, {2, 3}})                  -- expect: (4,(2,3)):(1,(4,8))
print(layout(24))                         -- expect: 24:1
print(layout(24, 2))                      -- expect: 24:2
print(layout("(4,8)", "(8,1)"))           -- expect: (4,8):(8,1)
print(layout(4.0))                        -- expect: 4:1
print(layout(L"(4,8):(8,1)"))             -- expect: (4,8):(8,1)
print(L"(4, 8) : (8, 1)", L"(4,8)", L"8") -- expect: (4,8):(8,1)	(4,8):(1,4)	8:1
print(row_major{4, 8}, col_major{4, 8})   -- expect: (4,8):(8,1)	(4,8):(1,4)
print(ordered({2, 3, 4}, {2, 0, 1}))      -- expect: (2,3,4):(12,1,3)
print(layout({4, 8}, {-1, 4}))            -- expect: (4,8):(-1,4)
print(layout{1, 8})                       -- expect: (1,8):(0,1)
