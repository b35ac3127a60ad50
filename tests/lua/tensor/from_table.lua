-- Lua tables to tensors and back: entry [i + 1][j + 1] is element (i,j).
local A = from_table(f32, {{1, 2, 3}, {4, 5, 6}})
print(A.layout, A[{1, 0}], A[{0, 2}])             -- expect: (2,3):(1,2)	4.0	3.0
print(from_table(i64, {5, 6, 7}).layout)          -- expect: 3:1
local R = from_table(i32, {{1, 2, 3}, {4, 5, 6}}, row_major{2, 3})
print(R.layout, R[{1, 0}])                        -- expect: (2,3):(3,1)	4
local F = from_table(i32, {1, 2, 3, 4, 5, 6}, row_major{2, 3})
print(F[1], F[{1, 0}], F[{0, 1}])                 -- expect: 2	2	3
local T = from_table(f64, {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9, 10}, {11, 12}}})
print(T.layout, T[{2, 0, 1}])                     -- expect: (3,2,2):(1,3,6)	10.0
local back = T:totable()
print(#back, #back[1], #back[1][1], back[3][1][2]) -- expect: 3	2	2	10.0
print(from_table(bool, {true, false}):totable()[2]) -- expect: false
print(size(from_table(f32, {})), size(from_table(f32, {{}, {}}))) -- expect: 0	0
print(#zeros(f32, {2, 0}):totable())              -- expect: 2
print(arange(i32, "(2,(2,2)):(1,(2,4))"):totable()[2][4]) -- expect: 7

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: from_table: t[2] has length 1; expected 2, as the first one has
try(from_table, f32, {{1, 2}, {3}})
-- expect: from_table: t[2] is a number; expected a table, as the first entry is
try(from_table, f32, {{1, 2}, 3})
-- expect: from_table: t[2][1]: got a string, but the elements are f32; expected a number
try(from_table, f32, {{1, 2}, {"3", 4}})
-- expect: from_table: t[1]: 1.5 is not an integer; the elements are i32
try(from_table, i32, {1.5})
-- expect: from_table: a table of shape 3 does not fit the layout (2,2):(1,2); expected a flat table of its size or nested ones of its modes' sizes
try(from_table, f32, {1, 2, 3}, {2, 2})
-- expect: from_table: a table of shape (1,3) does not fit the layout (3,1):(1,0); expected a flat table of its size or nested ones of its modes' sizes
try(from_table, f32, {{1, 2, 3}}, {3, 1})
local loop = {}
loop[1] = loop
-- expect: from_table: the table is nested deeper than 32 levels
try(from_table, f32, loop)
