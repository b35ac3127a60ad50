-- Forms that CuTe's compiled code prints, down to tuples of one mode: an integer block is paired with
-- what repeats it as it is, and the only rest of a tiled copy's part stays a tuple.
print(blocked_product("8", "((4,4)):((4,1))")) -- expect: ((8,((4,4)))):((1,((32,8))))
print(raked_product("8", "((4,4)):((4,1))"))   -- expect: ((((4,4)),8)):((((32,8)),1))
print(blocked_product("(8)", "((4,4)):((4,1))"), blocked_product("8", "4"))
-- expect: ((8,(4,4))):((1,(32,8)))	((8,4)):((1,8))
print(tile_to_shape("12", { 24 }), tile_to_shape("12", 24), tile_to_shape("(12)", { 24 }))
-- expect: ((12,(2))):((1,(12)))	((12,2)):((1,12))	((12,2)):((1,12))
local copier = tiled_copy(atom("UniversalCopy<u128>", f32), layout(8), layout(4)):get_slice(1)
print(copier:partition_S(zeros(f32, 96)).layout)          -- expect: ((4,1),(3)):((1,0),(32))
print(copier:partition_D(zeros(f32, { 96 })).layout)      -- expect: ((4,1),(3)):((1,0),(32))
