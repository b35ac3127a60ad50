-- Casts of fragments take the instructions for two elements that the target has, and no others.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
for _, T in ipairs{f16, bf16, f8e4m3, f8e5m2} do
  kernel("narrow_" .. T.name, function(x, y, z)
    local r = cast(tile(x, {4}, {threadIdx.x}), T)
    copy(r, tile(y, {4}, {threadIdx.x}))
    copy(cast(r, f32), tile(z, {4}, {threadIdx.x}))
  end){grid = 1, block = 8}(rand(f32, 32), zeros(T, 32), zeros(f32, 32))
end
]]
for _, sm in ipairs{75, 80, 89} do
  local text = shell.cuttle("emit --sm=%d %s 2>/dev/null", sm, script)
  local found = {}
  for name in text:gmatch "cvt%.r[%w.]+" do
    if name:find("x2.", 1, true) then found[#found + 1] = name end
  end
  print(sm, #found, table.unpack(found))
end
os.remove(script)
-- expect: 75	0
-- expect: 80	2	cvt.rn.f16x2.f32	cvt.rn.bf16x2.f32
-- expect: 89	5	cvt.rn.f16x2.f32	cvt.rn.bf16x2.f32	cvt.rn.satfinite.e4m3x2.f32	cvt.rn.f16x2.e4m3x2	cvt.rn.satfinite.e5m2x2.f32
