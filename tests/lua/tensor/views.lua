-- Functions on layouts applied to tensors: the layout changes, the data stays.
local A = arange(i32, {4, 6})
print(size(A), rank(A), size(A, 1), cosize(A), depth(A))   -- expect: 24	2	6	24	1
print(shape(A, 0), stride(A, 1), A:size(), A:rank())       -- expect: 4	4	24	2
print(view(A, "(6,4):(4,1)")[{1, 2}])                      -- expect: 6
print(view(A, row_major{6, 4}).layout, A.layout)           -- expect: (6,4):(4,1)	(4,6):(1,4)
print(coalesce(A).layout, A:coalesce()[23])                -- expect: 24:1	23
print(zipped_divide(A, {2, 3}).layout)                     -- expect: ((2,3),(2,2)):((1,4),(2,12))
print(A:zipped_divide{2, 3}[{{1, 2}, {1, 1}}])             -- expect: 23
print(logical_divide(A, {2, 3}).layout)                    -- expect: ((2,2),(3,2)):((1,2),(4,12))
print(A:tiled_divide{2, 3}.layout)                         -- expect: ((2,3),2,2):((1,4),2,12)
print(A:flat_divide{2, 3}.layout)                          -- expect: (2,3,2,2):(1,4,2,12)
print(composition(A, "(6,2):(4,2)").layout)                -- expect: (6,2):(4,2)
print(composition(A, "(6,2):(4,2)")[{5, 1}])               -- expect: 22
print(A(_, 2):composition("2:2")[1])                       -- expect: 10
print(A:group_modes(0, 2).layout, select(A, {1}).layout)          -- expect: ((4,6)):((1,4))	(6):(4)
print(select("#", A, A), select(2, 1, A) == A)             -- expect: 2	true
local V = view(A, 8)
V[7] = 70
print(A[{3, 1}])                                           -- expect: 70

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: view: layout 25:1 reaches from element 0 to 24 of the 24 elements of A
try(function() view(A, 25) end)
-- expect: view: layout 7:1 reaches from element 20 to 26 of the 24 elements of the tensor
try(function() view(A(_, 5), 7) end)
-- expect: view: argument 1 is a number; a tensor was expected
try(function() view(1, 7) end)
-- expect: view: layout 2:9223372036854775807 reaches from element 20 to 9223372036854775807 of the 24 elements of the tensor
try(function() view(A(_, 5), "2:9223372036854775807") end)

-- What several coordinates share is seen once.
local shared_rows = from_table(i32, { 1, 2, 3 })
local rows = view(shared_rows, L"(3,4):(1,0)")
print(filter(rows).layout, rows:filter_zeros().layout, filter(rows)[2])  -- expect: 3:1	(3,1):(1,0)	3
