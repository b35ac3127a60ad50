-- t(_, 2) keeps the modes under `_` and looks at the same memory.
local A = arange(i32, {4, 8})
local column, row = A(_, 2), A(1, _)
print(column.layout, row.layout)        -- expect: (4):(1)	(8):(4)
print(column[0], column[3], row[7])     -- expect: 8	11	29
column[0] = 100
print(A[{0, 2}])                        -- expect: 100
print(A(_, _).layout, A(_).layout)      -- expect: (4,8):(1,4)	(4,8):(1,4)
local N = arange(i32, "((2,2),8):((1,2),4)")
print(N({1, _}, 3).layout, N({1, _}, 3)[1])  -- expect: (2):(2)	15
print(A(_, 3)(2), A(2, 3))              -- expect: 14	14
