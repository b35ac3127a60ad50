-- A layout after a swizzled one: only coordinates that occur count. Pairs of bits beyond them move
-- along, as in CuTe, where their images stay idle; else they are left out.
local function same(a, b, r)
  for i = 0, size(b) - 1 do assert(a(b(i)) == r(i), ("%s o %s at %d"):format(a, b, i)) end
  return r
end

-- The bits 6 and 7 that Sw<2,4,2> reads are in none of 0..15.
local C = L "Sw<2,4,2> o 0 o ((4,4)):((4,1))"
local back = left_inverse(C)
print(back) -- expect: Sw<2,2,2> o 0 o (4,4):(4,1)
for i = 0, size(C) - 1 do assert(back(C(i)) == i) end
print(right_inverse(C)) -- expect: Sw<2,2,2> o 0 o (4,4):(4,1)

local A = L "(16,16):(16,1)"
local inside = L "Sw<1,2,2> o 0 o (16,(4,4)):(1,(16,64))"
print(same(A, inside, composition(A, inside)))
-- expect: Sw<1,0,-6> o 0 o (16,(4,4)):(16,(1,4))

-- One coordinate more, and A runs on where its modes overlap: a carry that no swizzle makes. CuTe's
-- Sw<1,0,-6> o 0 o (16,(4,8)):(16,(1,4)) is another function there.
local beyond = L "Sw<1,2,2> o 0 o (16,(4,8)):(1,(16,64))"
local printed = L "Sw<1,0,-6> o 0 o (16,(4,8)):(16,(1,4))"
local n_other = 0
for i = 0, size(beyond) - 1 do n_other = n_other + (A(beyond(i)) ~= printed(i) and 1 or 0) end
print(n_other, pcall(composition, A, beyond))
-- expect: 32	false	tests/lua/layout/swizzle_idle_bits.lua:26: composition: Sw<1,2,2> cannot move in front of (16,16):(16,1): the swizzled layout reaches coordinate 511, beyond its 256, where its modes overlap in the bits of the index; expected one within

-- Where the images of idle bits would be reached, they are left out; here all of them.
local plain = L "Sw<1,0,5> o 0 o 16:1"
print(same(L "(8,2,4):(1,16,8)", plain, composition("(8,2,4):(1,16,8)", plain)))
-- expect: (8,2):(1,16)
