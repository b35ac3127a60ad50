-- Calling a layout: integers count colexicographically, `_` slices, a layout composes.
local l = L"((2,3),4):((1,16),2)"
print(l(0), l(5), l(23))            -- expect: 0	33	39
print(l(1, 2), l({1, 2}, 3), l({{1, 2}, 3}))  -- expect: 5	39	39
print(l"(1,2)", l"((1,2),3)")       -- expect: 5	39
print(l(_, 2), l({_, 1}, 2))        -- expect: ((2,3)):((1,16))	(2):(1)
print(l(_, _) == l)                 -- expect: true
print(l(24), l(6 * 5))              -- expect: 8	10
local a, b = L"(20,2):(16,4)", L"(4,5):(1,4)"
print(a(b), a"(4,5):(1,4)")         -- expect: (4,5):(16,64)	(4,5):(16,64)
for i = 0, size(b) - 1 do assert(a(b)(i) == a(b(i))) end
