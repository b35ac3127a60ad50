-- Layouts are equal when their shapes and strides are; tuples when their integers are.
print(L"(4,8):(8,1)" == row_major{4, 8})        -- expect: true
print(L"(4,8):(8,1)" == L"(4,8):(1,4)")         -- expect: false
print(L"4:1" == L"(4):(1)", L"4:1" == "4:1")    -- expect: false	false
print(shape(L"(4,(2,3))") == { 4, { 2, 3 } })   -- expect: true
print(shape(L"(4,(2,3))") == { 4, { 3, 2 } })   -- expect: false
