-- Names travel with the modes through every operation.
local l, nested = L"(M=128,K=64):(1,128)", L"(M=(8,4),K=64)"

-- picking modes: the kept ones keep theirs, a new mode has none
print(l(_, 3), nested({_, 1}, 0), slice({3, _}, l), dice({3, _}, l))  -- expect: (M=128):(1)	(M=8):(1)	(K=64):(128)	(M=128):(1)
print(group_modes(l, 0, 2), take(l, 1, 2), concat(l, "N=2:9"))  -- expect: ((M=128,K=64)):((1,128))	(K=64):(128)	((M=128,K=64),N=2):((1,128),9)
print(append("M=4:1", "3:7"), prepend("M=4:1", "N=3:7"))  -- expect: (M=4,3):(1,7)	(N=3,M=4):(7,1)

-- a leaf says what the mode around it says
print(flatten(nested), get_mode(nested, 0, 1))      -- expect: (M=8,M=4,K=64):(1,8,32)	M=4:8
-- what is merged is named where all of it says the same; names never change what is merged
print(coalesce(l), coalesce(nested, "(1,1)"), coalesce"(M=(2,4),K=3):((1,2),9)")  -- expect: 8192:1	(M=32,K=64):(1,32)	(M=8,K=3):(1,9)
print(coalesce"M=(a=2,b=4)", filter"(M=4,K=8):(0,1)", filter_zeros"(M=4,K=8):(0,1)")  -- expect: M=8:1	K=8:1	(M=1,K=8):(0,1)

-- divides: tile and rest both say M, however they are sorted
print(logical_divide(l, {8, 4}))  -- expect: (M=(8,16),K=(4,16)):((1,8),(128,512))
print(zipped_divide(l, {8, 4}))   -- expect: ((M=8,K=4),(M=16,K=16)):((1,128),(8,512))
print(tiled_divide(l, {8, 4}), flat_divide(l, {8, 4}))  -- expect: ((M=8,K=4),M=16,K=16):((1,128),8,512)	(M=8,K=4,M=16,K=16):(1,128,8,512)
print(logical_divide(l, "32:4"))  -- expect: (M=32,(M=4,K=64)):(4,(1,128))
print(tile(l, {8, 4}, {_, 3}))    -- expect: (M=8,K=4,M=16):(1,128,8)	1536
print(tile(l, {8, 16, 4}, {0, 1, _}, {1, _, 1}))  -- expect: (M=8,K=4,K=16):(1,128,512)	0
print(parallelize(l, "(2,4)", 3), parallelize(l, "(2,4)", 3, {1, _}))  -- expect: (M=64,K=16):(2,512)	(M=64,K=64):(2,128)	1

-- products: the block keeps its names, and so does the arrangement; a pair is called as the block
print(logical_product("(M=4,K=8)", "(a=2,b=3):(1,2)"))  -- expect: ((M=4,K=8),(a=2,b=3)):((1,4),(32,64))
print(blocked_product("(M=4,K=8)", "(2,3)"))            -- expect: (M=(4,2),K=(8,3)):((1,32),(4,64))
print(raked_product("(4,8)", "(a=2,b=3)"))              -- expect: (a=(2,4),b=(3,8)):((32,1),(64,4))
print(tile_to_shape("(M=4,K=8)", "(8,16)"), tile_to_shape("(4,8)", "(M=8,K=16)"))  -- expect: (M=(4,2),K=(8,2)):((1,32),(4,64))	(M=(4,2),K=(8,2)):((1,32),(4,64))

-- composition: the right one's names; without them the name of all that a mode steps through
print(composition(l, "(x=2,3):(1,128)"), l("(4,8,16):(1,4,128)"))  -- expect: (x=2,K=3):(1,128)	(M=4,M=8,K=16):(1,4,128)
print(composition(l, {"4:2", _}), composition(l, "256:1"), composition(l, "(4,8):(1,4)"))  -- expect: (M=4,K=64):(2,128)	256:1	M=(4,8):(1,4)
print(composition("(M=(a=8,b=4),K=4)", "(8,4):(1,8)"), composition("(M=(a=8,b=4),K=4)", "(32,4):(1,32)"))  -- expect: (a=8,b=4):(1,8)	(M=32,K=4):(1,32)
-- a mode of strides up and down, of stride 0, of basis elements
print(composition(l, "(64,2):(-1,128)"), composition(l, "(4,2):(1,0)"), composition(l, "(4,2):(1@1,2@0)"))  -- expect: (M=64,K=2):(-1,128)	(M=4,2):(1,0)	(K=4,M=2):(128,2)

-- layouts like it, or of other elements
print(layout_like(l), fragment_layout_like"(M=4,K=8):(8,1)", upcast("(M=4,K=8)", 2), downcast("M=4:1", 2))  -- expect: (M=128,K=64):(1,128)	(M=4,K=(8)):(1,(4))	(M=2,K=8):(1,2)	M=8:1
print(recast("(M=4,K=8)", 16, 32), nullspace"(M=4,K=8):(0,1)")  -- expect: (M=2,K=8):(1,2)	M=4:1
-- what maps indices back to coordinates is of no mode
print(complement(l:take(0, 1), 8192), right_inverse(l), left_inverse(l), (tv_layout("(t=4):(1)", "(v=2):(1)")))  -- expect: 64:128	8192:1	8192:1	(4,2):(2,1)

-- under a swizzle as without
local s = composition(swizzle(2, 0, 3), L"(M=8,K=8):(8,1)")
print(s, size(s, "K"), s:names()[2], s:named("a", _))  -- expect: Sw<2,0,3> o 0 o (M=8,K=8):(8,1)	8	K	Sw<2,0,3> o 0 o (a=8,K=8):(8,1)
print(zipped_divide(s, {4, 4}), s:select("K"))  -- expect: Sw<2,0,3> o 0 o ((M=4,K=4),(M=2,K=2)):((8,1),(32,4))	Sw<2,0,3> o 0 o (K=8):(1)
