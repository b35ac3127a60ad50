-- Swizzles: objects that are called, compared, composed; their masks and their text.
local sw = swizzle(2, 0, 3)
print(sw, swizzle"Sw<2,0,3>" == sw, sw == swizzle(2, 0, -3))  -- expect: Sw<2,0,3>	true	false
print(sw(9), sw(8), sw(sw(29)))                               -- expect: 8	9	29
print(sw.bits, sw.base, sw.shift, sw.y, sw.z)                 -- expect: 2	0	3	24	3
print(swizzle_from_masks(192, 6), swizzle_from_masks(0, 0))   -- expect: Sw<2,1,5>	Sw<0,0,0>
print(composition(swizzle(1, 0, 3), swizzle(1, 1, 3)))        -- expect: Sw<2,0,3>
print(composition(sw, "Sw<2,0,3>"), sw(swizzle(0, 4, 3)))     -- expect: Sw<0,0,0>	Sw<2,0,3>
print(sw:recast(8, 4), recast("Sw<3,4,3>", f32, f64), sw:upcast(2), sw:downcast(8))
-- expect: Sw<2,1,3>	Sw<3,3,3>	Sw<1,0,3>	Sw<2,3,3>

-- Each is an involution, and moves indices within blocks.
for _, s in ipairs { sw, swizzle(3, 4, 3), swizzle(2, 1, -4), swizzle(0, 2, 1) } do
  local seen = {}
  for x = 0, 4095 do
    local y = s(x)
    assert(s(y) == x and not seen[y] and y >= 0 and y < 4096)
    seen[y] = true
  end
end
