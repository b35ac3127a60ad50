local l = L"((2,2),3):((1,2),4)"
assert(tostring(logical_divide(l, {2})) ~= "" and size(zipped_divide(l, {2})) == 12)
assert(size(right_inverse(l)) == 12 and complement("(2,2):(1,4)", 24) and composition(l, {2}))
assert(blocked_product("(2,5):(5,1)", "(3,4)"))
assert(composition(swizzle(3, 3, 3), row_major{64, 64})(9) == 584)
for _, draw in ipairs{svg, html, latex} do assert(#draw("(4,8):(8,1)") > 10) end
explain "(4,8):(8,1)"
local t = from_table(f32, {1, 2, 3, 4}, {2, 2})
assert(#t:totable() == 2 and allclose(t, t) and #tostring(t) > 10)
