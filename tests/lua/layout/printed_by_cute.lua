-- What CuTe prints is the text of a layout: static integers with _, and tensors with their pointer.
print(L"(_4,_8):(_8,_1)", L"((_2,3),_4):((_1,8),_2)", L"(_4,_8):(_-8, _1)", L"_8:_1", L"(_4,_8)")
-- expect: (4,8):(8,1)	((2,3),4):((1,8),2)	(4,8):(-8,1)	8:1	(4,8):(1,4)
print(L"(_2,_3):(_1@0,_1@1)", shape"(_4,(_2,_3))", L"(M=_4,K=_8):(_8,_1)",
  composition("_24", "_4:_2"))
-- expect: (2,3):(1@0,1@1)	(4,(2,3))	(M=4,K=8):(8,1)	4:2
print(slice("(_,_3)", "(_4,_8):(_8,_1)"))                            -- expect: (4):(8)
print(tile(zeros(f32, {8, 8}), "(_4,_2)", {1, 0}).layout)            -- expect: (4,2):(1,8)
print(L"gmem_ptr[32b](0x7f5c06000000) o (_4,_8):(_8,_1)", L"ptr[16b](0x7ffe) o _4:_1")
-- expect: (4,8):(8,1)	4:1
print(L"Sw<2,0,3> o _0 o (_8,_8):(_8,_1)")                           -- expect: Sw<2,0,3> o 0 o (8,8):(8,1)

-- A swizzle of a pointer works on bytes; a layout here counts elements.
print(L"Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)",
  smem_atom("K_SW128", f16))
-- expect: Sw<3,3,3> o 0 o (8,64):(64,1)	Sw<3,3,3> o 0 o (8,64):(64,1)
print(L"Sw<3,4,3>_smem_ptr[32b](0x7f0000000400) o ((_8,_1),_32):((_32,_0),_1)")
-- expect: Sw<3,2,3> o 0 o ((8,1),32):((32,0),1)
print(L"Sw<3,4,3> o smem_ptr[8b](0x0) o (_8,_128):(_128,_1)",
  L"Sw<1,4,3> o smem_ptr[4b](0x0) o _64:_1")
-- expect: Sw<3,4,3> o 0 o (8,128):(128,1)	Sw<1,5,3> o 0 o 64:1

local function try(text)
  print((select(2, pcall(L, text)):gsub("^[^:]*:%d+: ", "")))
end
try "(_4,_x)"                -- expect: layout: expected ')' at column 5 of '(_4,_x)'
try "gmem_ptr[32](0x7) o _4" -- expect: layout: expected 'b' at column 11 of 'gmem_ptr[32](0x7) o _4'
-- expect: layout: expected a pointer such as smem_ptr[16b](0x0) at column 11 of 'Sw<3,4,3>_ o _4:_1'
try "Sw<3,4,3>_ o _4:_1"
try "gmem_ptr[0b](0x7) o _4" -- expect: layout: an element has 1 bit or more at column 9 of 'gmem_ptr[0b](0x7) o _4'
try "gmem_ptr[32b](0x7"      -- expect: layout: expected ')' at column 17 of 'gmem_ptr[32b](0x7'
try "_"                      -- expect: layout: extent _ in shape _; expected a number
