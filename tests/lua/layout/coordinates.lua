-- Coordinates to indices and back; as methods the layout comes first.
local l = L"(4,8):(8,1)"
print(crd2idx({ 1, 2 }, l), crd2idx("(1,2)", "(4,8)"), crd2idx({ 1, 2 }, { 4, 8 }, { 8, 1 }))  -- expect: 10	9	10
print(l:crd2idx{ 1, 2 }, idx2crd(10, l), l:idx2crd(10))    -- expect: 10	(1,2)	(1,2)
print(idx2crd(9, { 4, 8 }), idx2crd(9, { 4, { 2, 4 } }))   -- expect: (1,2)	(1,(0,1))
print(crd2crd({ 1, 2 }, { 4, 8 }, 32), crd2crd(9, 32, { 4, 8 }))  -- expect: 9	(1,2)
print(slice({ _, 2 }, l), l:slice{ _, 2 }, slice_and_offset({ _, 2 }, l))  -- expect: (4):(8)	(4):(8)	(4):(8)	2
print(dice({ _, 2 }, l), slice({ _, 2 }, { 3, { 4, 5 } }))  -- expect: (8):(1)	(3)
print(congruent({ 1, { 2 } }, "(4,(5))"), compatible(32, l), elem_less({ 1, 2 }, { 2, 3 }))  -- expect: true	true	true
print(evenly_divides({ 8, 8 }, { 4, 3 }), weakly_congruent(8, { 2, 4 }))  -- expect: false	true
print(compact_row_major{ 2, 3 }, compact_col_major({ 2, 3 }, 4), compact_order({ 2, 3 }, { 1, 0 }))  -- expect: (3,1)	(4,8)	(3,1)
