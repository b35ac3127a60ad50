-- What explain says of swizzled layouts.
explain(composition(swizzle(3, 3, 3), row_major{8, 64}), { offset = 72 })
-- expect: layout        Sw<3,3,3> o 0 o (8,64):(64,1)
-- expect: swizzle       bits 6..8 of the index are xored into bits 3..5; aligned runs of 8 elements stay together
-- expect: modes         0       8:64  steps of 64 elements
-- expect:               1       64:1  contiguous
-- expect: made by       composition(Sw<3,3,3>, (8,64):(64,1)) = Sw<3,3,3> o 0 o (8,64):(64,1)
-- expect:                 result(c) = A(B(c)): Sw<3,3,3> swizzles each index of B
-- expect: contiguity    runs of 8 elements in memory
-- expect: vectors       f32: 4 elements in one access (128 bits)
-- expect:               f16: 8 elements in one access (128 bits)
-- expect: place         offset 72 is that of (1,0)
-- expect: coverage      each offset 0..511 exactly once

-- The fields of a negative shift, an offset before the swizzle, and the owners of a swizzled tile.
print(explain(L"Sw<1,4,-2> o 3 o 4:1", { text = true }):match("swizzle.*before that"))
-- expect: swizzle       bit 4 of the index is xored into bit 6; aligned runs of 16 elements stay together
-- expect:               3 is added to an offset before that
local tv = composition(swizzle(2, 0, 3), "((2,4),(2,2)):((8,1),(4,16))")
print(explain(tv, { tile = { 4, 8 }, thread = 1, text = true }):match("owns[^\n]*"))
-- expect: owns          thread 1: (1,2) (1,3) (3,6) (3,7)

-- A swizzle alone, and one that leaves nothing together.
explain(swizzle(1, 0, 1))
-- expect: layout        Sw<1,0,1> o 0 o 4:1
-- expect: swizzle       bit 1 of the index is xored into bit 0
-- expect: modes                 4:1  contiguous
-- expect: made by       composition(Sw<1,0,1>, 4:1) = Sw<1,0,1> o 0 o 4:1
-- expect:                 result(c) = A(B(c)): Sw<1,0,1> swizzles each index of B
-- expect: contiguity    no run of elements stays together
-- expect: vectors       f32: 1 element in one access (32 bits)
-- expect:               f16: 1 element in one access (16 bits)
-- expect: coverage      each offset 0..3 exactly once

-- A swizzle given as text is one, too, in words and in pictures.
local from_text <const> = composition("Sw<1,0,1>", "(2,2):(2,1)")
local from_value <const> = composition(swizzle(1, 0, 1), "(2,2):(2,1)")
print(explain(from_text, { text = true }) == explain(from_value, { text = true }))
-- expect: true
print(svg(from_text) == svg(from_value))
-- expect: true
