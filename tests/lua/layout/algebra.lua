-- Functions of the algebra, as functions and as methods.
print(coalesce"(2,(1,6)):(1,(6,2))")                   -- expect: 12:1
print(coalesce("(2,(1,6)):(1,(6,2))", { 1, 1 }))       -- expect: (2,6):(1,2)
print(composition("(20,2):(16,4)", "(4,5):(1,4)"))     -- expect: (4,5):(16,64)
print(composition("(9,(4,8)):(59,(13,1))", "<3:3,8:2>"))  -- expect: (3,(2,4)):(177,(26,1))
print(complement("4:2", 24), complement("4:1", 24))    -- expect: (2,3):(1,8)	6:4
print(L"4:1":coalesce():complement(24))                -- expect: 6:4
print(logical_divide("(8,8)", { 4, 2 }))               -- expect: ((4,2),(2,4)):((1,4),(8,16))
print(logical_divide("(8,8)", { 4, _ }))               -- expect: ((4,2),8):((1,4),8)
print(tiled_divide("(8,8)", "(4,2)"), flat_divide("(8,8)", "(4,2)"))  -- expect: ((4,2),2,4):((1,8),4,16)	(4,2,2,4):(1,8,4,16)
print(blocked_product("(2,2)", "(2,2)"))               -- expect: ((2,2),(2,2)):((1,4),(2,8))
print(raked_product("(2,2)", "(2,2)"))                 -- expect: ((2,2),(2,2)):((4,1),(8,2))
print(right_inverse"(4,8):(8,1)", left_inverse"(4,8):(8,1)")  -- expect: (8,4):(4,1)	(8,4):(4,1)
print(max_common_vector("(4,2):(1,4)", "8:1"))         -- expect: 8
print(max_common_layout("(4,2):(1,8)", "8:1"))         -- expect: 4:1
print(tv_layout("(2,3):(3,1)", "(2,3):(1,2)"))         -- expect: ((3,2),(2,3)):((12,2),(1,4))	(4,9)
print(recast(L"(8,4):(1,8)", f32, f64))                -- expect: (4,4):(1,4)
print(tile_to_shape("(2,2)", { 4, 4 }, "right"))       -- expect: ((2,2),(2,2)):((1,8),(2,4))
