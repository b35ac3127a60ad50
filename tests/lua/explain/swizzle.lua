-- What explain says of swizzled layouts.
explain(composition(swizzle(3, 3, 3), row_major{8, 64}), { offset = 72 })
-- expect: layout        Sw<3,3,3> o 0 o (8,64):(64,1)
-- expect: swizzle       by bits 6..8 of an offset, bits 3..5 of it are flipped; aligned runs of 8 elements stay together
-- expect: modes         0       8:64  steps of 64 elements
-- expect:               1       64:1  contiguous
-- expect: made by       composition(Sw<3,3,3>, (8,64):(64,1)) = Sw<3,3,3> o 0 o (8,64):(64,1)
-- expect: contiguity    runs of 8 elements in memory
-- expect: vectors       f32: 4 elements in one access (128 bits)
-- expect:               f16: 8 elements in one access (128 bits)
-- expect: place         offset 72 is that of (1,0)
-- expect: coverage      each offset 0..511 exactly once

-- The fields of a negative shift, an offset before the swizzle, and the owners of a swizzled tile.
print(explain(L"Sw<1,4,-2> o 3 o 4:1", { text = true }):match("swizzle.*before that"))
-- expect: swizzle       by bits 4 of an offset, bits 6 of it are flipped; aligned runs of 16 elements stay together
-- expect:               3 is added to an offset before that
local tv = composition(swizzle(2, 0, 3), "((2,4),(2,2)):((8,1),(4,16))")
print(explain(tv, { tile = { 4, 8 }, thread = 1, text = true }):match("owns[^\n]*"))
-- expect: owns          thread 1: (1,2) (1,3) (3,6) (3,7)
