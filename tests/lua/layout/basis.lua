-- Strides may be basis elements: E(i), also as text. Values are coordinates then.
print(E(0), E(0, 1), 3 * E(1), E(1) * 2)           -- expect: 1@0	1@1@0	3@1	2@1
print(layout({ 4, 8 }, { E(0), E(1) }))            -- expect: (4,8):(1@0,1@1)
print(L"(4,8):(1@0,1@1)" == layout({ 4, 8 }, { E(0), E(1) }))  -- expect: true
print(E(1) == E(1), E(1) == 2 * E(1), stride(L"4:2@1") == 2 * E(1))  -- expect: true	false	true

-- Sums are coordinates: what is missing counts as 0.
print(E(0) + 2 * E(1), E(0) + E(0), E(0, 1) + E(1), E(0) + E(1) + 2 * E(3))
-- expect: (1,2)	2@0	((0,1),1)	(1,1,0,2)

-- The nesting of a value follows from the strides, so all values have the same.
print(L"(4,8):(1@0,1@1)"(3, 5), L"8:2@1"(3), L"(2,3):(1@0,0)"(1, 2), L"4:1@0"(0))
-- expect: (3,5)	(0,6)	(1)	(0)

-- identity_layout(shape): the natural coordinate of any coordinate.
local I = identity_layout "(4,(2,3))"
print(I, I(5), I(2, 3), I { 3, { 1, 2 } })  -- expect: (4,(2,3)):(1@0,(1@0@1,1@1@1))	(1,(1,0))	(2,(1,1))	(3,(1,2))
for i = 0, 23 do
  assert(I(i) == idx2crd(i, "(4,(2,3))") and crd2idx(I(i), "(4,(2,3))") == i)
end
print(identity_layout(8), identity_layout { 8 }, identity_layout "(M=4,K=8)")  -- expect: 8:1	(8):(1@0)	(M=4,K=8):(1@0,1@1)
print(identity_layout { 2, 2 }:values()[4], crd2idx("(1,1)", identity_layout { 2, 2 }))  -- expect: (1,1)	(1,1)

-- Slices and parts begin at a coordinate.
print(slice_and_offset({ _, { 1, 2 } }, I))        -- expect: (4):(1@0)	(0,(1,2))
print(tile(identity_layout { 10, 12 }, { 4, 4 }, { 1, 2 }))        -- expect: (4,4):(1@0,1@1)	(4,8)
print(parallelize(identity_layout { 8, 8 }, "(2,4)", 5))  -- expect: (4,2):(2@0,4@1)	(1,2)

-- The part of a thread covers the same coordinates as that of the tensor itself.
local shape, thr = { 8, 12 }, L"(2,4):(4,1)"
local A, C = layout(shape), identity_layout(shape)
for t = 0, 7 do
  local a, at = parallelize(A, thr, t)
  local c, from = parallelize(C, thr, t)
  for i = 0, size(a) - 1 do
    assert(A(c(i) + from) == at + a(i))
  end
end

-- The algebra goes on below: what steps along one mode is one mode.
print(I:zipped_divide { 2, 2 })   -- expect: ((2,2),(2,3)):((1@0,1@0@1),(2@0,1@1@1))
print(coalesce "((2,3),4):((1@0,2@0),1@1)")        -- expect: (6,4):(1@0,1@1)
print(composition(I, "(4,3):(2,8)"))               -- expect: ((2,2),3):((2@0,1@0@1),1@1@1)
print(composition("(4,8):(8,1)", "(2,8):(1@1,1@0)"))        -- expect: (2,8):(1,8)
for i = 0, 11 do
  assert(composition(I, "(4,3):(2,8)")(i) == I(L"(4,3):(2,8)"(i)))
end
