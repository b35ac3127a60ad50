-- Sizes, shapes and strides, of a layout or of the mode at a path.
local l = L"((2,3),4):((1,16),2)"
print(size(l), cosize(l), rank(l), depth(l))   -- expect: 24	40	2	2
print(size(l, 0), size(l, 0, 1), size(l, {0, 1}))  -- expect: 6	3	3
print(shape(l), stride(l))                     -- expect: ((2,3),4)	((1,16),2)
print(shape(l, 0), shape(l, 0, 1), stride(l, 1))  -- expect: (2,3)	3	2
print(rank(l, 0), depth(l, 1), cosize(l, 0))   -- expect: 2	0	34
print(l.shape, l.stride, l.shape[1][2])        -- expect: ((2,3),4)	((1,16),2)	3
print(l:size(), l:size(1), l:rank())           -- expect: 24	4	2
print(size{4, 8}, size"(4,8)", size(7))        -- expect: 32	32	7
