-- Strides may be basis elements: E(i), also as text.
print(E(0), E(0, 1), 3 * E(1), E(1) * 2)           -- expect: 1@0	1@1@0	3@1	2@1
print(layout({ 4, 8 }, { E(0), E(1) }))            -- expect: (4,8):(1@0,1@1)
print(L"(4,8):(1@0,1@1)" == layout({ 4, 8 }, { E(0), E(1) }))  -- expect: true
print(E(1) == E(1), E(1) == 2 * E(1), stride(L"4:2@1") == 2 * E(1))  -- expect: true	false	true
