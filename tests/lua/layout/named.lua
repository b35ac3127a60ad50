-- Modes by name: how they are written, set, told and asked for.
local l = L"(M=128,K=64):(1,128)"
print(l, L"(M=(8,4),K=64)", L"M=8:1")  -- expect: (M=128,K=64):(1,128)	(M=(8,4),K=64):((1,8),32)	M=8:1
print(layout"(M=4,K=8)", row_major"(M=4,K=8)", layout{"M=4", {8, "x=2"}})  -- expect: (M=4,K=8):(1,4)	(M=4,K=8):(8,1)	(M=4,(8,x=2)):(1,(4,32))

-- named: one for each mode; `_` leaves a mode as it is, false takes its name away
local n = L"(128,64):(1,128)":named("M", "K")
print(n, L"(4,8)":named("M", _), L"9:2":named("i"))  -- expect: (M=128,K=64):(1,128)	(M=4,8):(1,4)	i=9:2
print(n:named(_, "N"), n:named("K", "M"), n:named(false, nil))  -- expect: (M=128,N=64):(1,128)	(K=128,M=64):(1,128)	(128,K=64):(1,128)
print(n:named(table.unpack(n:names())) == n, #n:names(), n:names()[1], n:named(_, false):names()[2])  -- expect: true	2	M	false
local nested = L"((2,3),4)":named({"a", "b"}, "K")
print(nested, nested:named("M", _))                -- expect: ((a=2,b=3),K=4):((1,2),6)	(M=(a=2,b=3),K=4):((1,2),6)
print(nested:named({0, 1}, "z"), nested:named(1, "N"), nested:named(0, {"x", _}))  -- expect: ((a=2,z=3),K=4):((1,2),6)	((a=2,b=3),N=4):((1,2),6)	((x=2,b=3),K=4):((1,2),6)
print(nested:named("M", _):named({"m", false}, _)) -- expect: (M=(m=2,3),K=4):((1,2),6)

-- wherever a mode number goes
print(size(l, "K"), cosize(l, "K"), shape(l, "M"), stride(l, "K"), rank(l, "M"), depth(l, "M"))  -- expect: 64	8065	128	128	1	0
print(get_mode(l, "K"), l:get_mode("M"), select(l, "K", "M"), l:select{"K"})  -- expect: K=64:128	M=128:1	(K=64,M=128):(128,1)	(K=64):(128)
print(l:replace("K", "N=9:7"), l:group_modes("M", "K"), L"(a=2,b=3,c=4)":take("b", "c"))  -- expect: (M=128,N=9):(1,7)	((M=128,K=64)):((1,128))	(b=3,c=4):(2,6)
print(size(nested, "b"), size(nested, 0, "b"), size(nested, {0, "b"}), nested:get_mode("K"))  -- expect: 3	3	3	K=4:6

-- a part without a name of its own is found through the mode that has one
local deep = L"(M=(8,4),K=64)"
print(get_mode(deep, "M"), size(deep, "M"), size(deep, "M", 1), size(get_mode(deep, "M"), "M"))  -- expect: M=(8,4):(1,8)	32	4	32
print(get_mode(deep, 0, 1), #deep:names(), deep:get_mode("M"):names()[1])  -- expect: M=4:8	2	false

-- the least deep mode of a name is the one
print(size(L"((M=2,K=3),M=5)", "M"))  -- expect: 5

-- a layout is a function: names are not a part of it
print(l == L"(128,64):(1,128)", congruent(l, "(1,1)"), l(3, 2), compatible(l, "(128,(8,8))"))  -- expect: true	true	259	true
-- nor of what it has of numbers
print(l.shape, l.stride, shape(l), layout(l.shape, l.stride))  -- expect: (128,64)	(1,128)	(128,64)	(128,64):(1,128)
