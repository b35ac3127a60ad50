-- A swizzled layout is a layout: made by composition or from text, printed as its text.
local S = composition(swizzle(2, 0, 3), "(8,8):(8,1)")
print(S)                                        -- expect: Sw<2,0,3> o 0 o (8,8):(8,1)
print(L(tostring(S)) == S, S == S.layout)       -- expect: true	false
print(S(3, 4), S { 3, 4 }, S(35), crd2idx("(3,4)", S))  -- expect: 31	31	31	31
print(S.swizzle, S.offset, S.layout, S.shape)   -- expect: Sw<2,0,3>	0	(8,8):(8,1)	(8,8)
print(S.layout.swizzle, S.layout.offset)        -- expect: nil	0
print(size(S), rank(S), depth(S), cosize(S), size(S, 1))  -- expect: 64	2	1	64	8
print(composition("Sw<2,0,3>", 5, "8:1"))       -- expect: Sw<2,0,3> o 5 o 8:1
print(composition("Sw<0,4,3>", "8:1"), composition("Sw<0,4,3>", 3, "8:1"))
-- expect: 8:1	Sw<0,4,3> o 3 o 8:1

-- The largest value counts, not that of the layout below.
print(cosize(L"Sw<1,0,3> o 0 o 2:8"), cosize(L"2:8"), cosize(L"Sw<3,4,3> o 0 o 1048576:1"))
-- expect: 10	9	1048576

-- What is fixed moves into the offset.
print(S(_, 3), S(2, _))                         -- expect: Sw<2,0,3> o 3 o (8):(8)	Sw<2,0,3> o 16 o (8):(1)
print(slice_and_offset({ 1, _ }, S))            -- expect: Sw<2,0,3> o 8 o (8):(1)	0
print(tile(S, { 4, 4 }, { 1, 1 }))              -- expect: Sw<2,0,3> o 36 o (4,4):(8,1)	0
print(parallelize(S, "(2,4)", 3))               -- expect: Sw<2,0,3> o 9 o (4,2):(16,4)	0

-- Operations on coordinates act below the swizzle.
print(S:zipped_divide { 4, 2 })                 -- expect: Sw<2,0,3> o 0 o ((4,2),(2,4)):((8,1),(32,2))
print(S:composition "<4:2,(2,2):(4,1)>":flatten())  -- expect: Sw<2,0,3> o 0 o (4,2,2):(16,4,1)
print(S:group_modes(0, 2):coalesce(), S:get_mode(1))      -- expect: Sw<2,0,3> o 0 o (8,8):(8,1)	Sw<2,0,3> o 0 o 8:1
print(tile_to_shape(S, { 16, 8 }))              -- expect: Sw<2,0,3> o 0 o ((8,2),(8,1)):((8,64),(1,0))
print(S:recast(16, 8), max_common_vector(S, "(8,8):(8,1)"),
  S:downcast(4):max_common_layout("(8,32):(32,1)"))
-- expect: Sw<2,1,3> o 0 o (8,16):(16,1)	1	4:8
print(layout_like(S), congruent(S, "(1,1)"))    -- expect: (8,8):(8,1)	true
print(S:coalesce():origin())                    -- expect: coalesce	Sw<2,0,3> o 0 o (8,8):(8,1)

-- A plain layout after a swizzled one: the swizzle moves to the front.
print(composition("(8,8):(8,1)", S), L"64:2"(S))
-- expect: Sw<2,0,-3> o 0 o (8,8):(1,8)	Sw<2,1,3> o 0 o (8,8):(16,2)
print(L"(8,8):(8,1)"(swizzle(2, 0, 3)))         -- expect: Sw<2,0,-3> o 0 o (8,8):(8,1)
local R, I = right_inverse(S), left_inverse(S)
for i = 0, 63 do
  assert(S(R(i)) == i and I(S(i)) == i)
end

-- A tensor's single element has its parts side by side, whatever its stride.
local one = view(from_table(f32, {1}), layout({1, 1}, {0, 5}))
print(recast(one, u16).layout, recast(from_table(f32, {1}), u8).layout) -- expect: (2,1):(1,0)	4:1
