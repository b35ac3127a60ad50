-- Every function whose first argument is a layout is a method of layouts as well.
local ct = require "cuttle"
local names = [[size cosize rank depth coalesce flatten filter filter_zeros composition complement
  right_inverse left_inverse nullspace logical_divide zipped_divide tiled_divide flat_divide
  logical_product zipped_product tiled_product flat_product blocked_product raked_product
  tile_to_shape crd2idx idx2crd slice slice_and_offset dice group_modes select take append prepend replace
  max_common_vector max_common_layout upcast downcast recast tv_layout congruent compatible
  weakly_congruent evenly_divides layout_like fragment_layout_like concat get_mode tile
  parallelize]]
local l, n = L"(4,8):(8,1)", 0
for name in names:gmatch("%S+") do
  if type(ct[name]) ~= "function" or type(l[name]) ~= "function" then
    print(name .. " is missing")
  end
  n = n + 1
end
print(n)                                          -- expect: 51
for name in ([[layout L row_major col_major ordered identity_layout shape stride swizzle
  swizzle_from_masks crd2crd elem_less lex_less colex_less compact_col_major compact_row_major
  compact_order domain_distribute E]]):gmatch("%S+") do
  if type(ct[name]) ~= "function" then
    print(name .. " is missing")
  end
end

-- Methods only: scripts want these names for their variables.
print(ct.values, ct.named, ct.names, ct.close)  -- expect: nil	nil	nil	nil
print(#l:values(), l:named("M", "N"):names()[2], zeros(f32, l):named("M", "N"):names()[1])  -- expect: 32	N	M

print(l:tile({ 2, 4 }, { 1, 1 }))                 -- expect: (2,4):(8,1)	20
print(l:parallelize("(2,4)", 3))                  -- expect: (2,2):(16,4)	9

-- With a path of modes.
local N = L"((2,3),4):((4,8),1)"
print(N:size(0), N:size(0, 1), N:rank(0), N:depth(0), N:cosize(1), shape(N, 0), stride(N, 0, 1))
-- expect: 6	3	2	1	4	(2,3)	8
