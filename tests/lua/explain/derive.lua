-- How results of other elements, fillings and null spaces came about, and parts under a projection.
local function derivation(x)
  print((explain(x, { text = true }):match("made by.*"):gsub("\n%w.*", "")))
end

derivation(upcast("(8,4):(1,16)", 4))
-- expect: made by       upcast((8,4):(1,16), 4) = (2,4):(1,4)
-- expect:                 4 elements become one: steps are divided by 4, smaller ones become 1 with fewer elements
-- expect:                 8:1 becomes 2:1, 4:16 becomes 4:4
derivation(upcast("(8,4):(2,16)", 4))
-- expect: made by       upcast((8,4):(2,16), 4) = (4,4):(1,4)
-- expect:                 4 elements become one: steps are divided by 4, smaller ones become 1 with fewer elements
-- expect:                 8:2 becomes 4:1, 4:16 becomes 4:4
derivation(downcast("(8,4):(1,8)", 2))
-- expect: made by       downcast((8,4):(1,8), 2) = (16,4):(1,16)
-- expect:                 one element becomes 2: a contiguous mode gets longer, all other steps larger
-- expect:                 8:1 becomes 16:1, 4:8 becomes 4:16
derivation(recast("(8,4):(1,8)", f32, f16))
-- expect: made by       recast((8,4):(1,8), f32, f16) = (16,4):(1,16)
-- expect:                 elements of 16 bits in place of 32: downcast((8,4):(1,8), 2)
-- expect:                 8:1 becomes 16:1, 4:8 becomes 4:16
derivation(recast("(8,4):(1,8)", 16, 64))
-- expect: made by       recast((8,4):(1,8), 16, 64) = (2,4):(1,2)
-- expect:                 elements of 64 bits in place of 16: upcast((8,4):(1,8), 4)
-- expect:                 8:1 becomes 2:1, 4:8 becomes 4:2
derivation(recast("(6,4):(1,6)", 8, 12))
-- expect: made by       recast((6,4):(1,6), 8, 12) = (4,4):(1,4)
-- expect:                 elements of 12 bits in place of 8: downcast(upcast((6,4):(1,6), 3), 2)
-- expect:                 6:1 becomes 4:1, 4:6 becomes 4:4
derivation(tile_to_shape("(2,2)", "(8,4)"))
-- expect: made by       tile_to_shape((2,2), (8,4)) = ((2,4),(2,2)):((1,4),(2,16))
-- expect:                 copies of (2,2):(1,2), 4 x 2 of them, fill the shape; they follow each other down the first mode, then along the next
derivation(tile_to_shape("(2,2)", "(8,4)", { 1, 0 }))
-- expect: made by       tile_to_shape((2,2), (8,4), (1,0)) = ((2,4),(2,2)):((1,8),(2,4))
-- expect:                 copies of (2,2):(1,2), 4 x 2 of them, fill the shape; they follow each other in the order (1,0) of the modes
derivation(tile_to_shape("(2,2)", "(8,4)", "right"))
-- expect: made by       tile_to_shape((2,2), (8,4), right) = ((2,4),(2,2)):((1,8),(2,4))
-- expect:                 copies of (2,2):(1,2), 4 x 2 of them, fill the shape; they follow each other along the last mode, then along the one before
derivation(nullspace("(2,3,4):(0,1,0)"))
-- expect: made by       nullspace((2,3,4):(0,1,0)) = (2,4):(1,6)
-- expect:                 A(result(i)) = 0 for each of the 8 coordinates that (2,3,4):(0,1,0) leads to 0
derivation(upcast("Sw<2,2,3> o 0 o (8,8)", 2))
-- expect: made by       upcast(Sw<2,2,3> o 0 o (8,8), 2) = Sw<2,1,3> o 0 o (4,8):(1,4)
-- expect:                 2 elements become one: steps are divided by 2, smaller ones become 1 with fewer elements
-- expect:                 8:1 becomes 4:1, 8:8 becomes 8:4

-- A projection lets threads share what they own.
local function sharing(x)
  print(explain(x, { text = true }):match("threads that differ[^\n]*"))
end

sharing(parallelize("(4,4):(1,4)", "(2,2)", 1, { 1, _ }))
-- expect: threads that differ only in mode 1 of (2,2):(1,2), which the projection drops, share elements by design
sharing(parallelize("(4,4,4)", "(2,2,2)", 1, { _, 1, _ }))
-- expect: threads that differ only in modes 0, 2 of (2,2,2):(1,2,4), which the projection drops, share elements by design
sharing(parallelize("(4,4):(1,4)", "(2,2)", 1))
-- expect: nil

-- A page says of a swizzle what explain says.
print(html(L"Sw<2,0,3> o 0 o (4,8):(8,1)"):match("bits 3[^<\"]*"))
-- expect: bits 3..4 of the index are xored into bits 0..1
