-- Which configuration of attention is chosen, by compute capability and shared memory, depth, mask,
-- strides and types; and by the contract of bits, after the semicolon, where mask and strides do not
-- count. Without queries nothing is traced.
local shell = dofile "tests/support/shell.lua"
local path <const> = shell.file [[
local prepare = require "cuttle.attention".prepare
local function choice(dtype, D, causal, stride, bits)
  local Q, K = zeros(dtype, row_major{1, 1, 0, D}), zeros(dtype, 8 * (stride or D))
  K = view(K, layout({1, 1, 8, D}, {0, 0, stride or D, 1}))
  local ok, _, name = pcall(prepare, Q, K, K, {causal = causal, bits = bits})
  return ok and name or "refused"
end
local function promise(...)
  local dtype, D, causal, stride = ...
  return choice(dtype, D, causal, stride, "batch_invariant")
end
print(table.concat({choice(bf16, 64), choice(bf16, 112), choice(f16, 112, true), choice(bf16, 192),
  choice(bf16, 128, false, 129), choice(bf16, 288), choice(f32, 64)}, ", "))
print(";", table.concat({promise(bf16, 64), promise(bf16, 112), promise(f16, 112, true),
  promise(bf16, 100, true), promise(bf16, 128, true, 129), promise(f32, 64)}, ", "))
]]
for _, sm in ipairs{"75", "80", "89", "90a", "100", "120"} do
  local command = "CUTTLE_DEVICE=cpu '%s' emit --sm=%s %s 2>&1"
  local pipe = assert(io.popen(command:format(arg[-1], sm, path)))
  print(sm, (pipe:read("a"):gsub("cuttle: emit: .*", ""):gsub("\n", ""))) -- it launches nothing
  pipe:close()
end
os.remove(path)
-- expect: 75	plain, plain, sm75 64x64, plain, plain, plain, plain;	plain, plain, sm75 64x64, plain, plain, plain
-- expect: 80	mma 128x64, mma 128x48, mma 128x48, mma 64x64, mma 128x48, plain, plain;	mma 128x64, mma 128x48, mma 128x48, mma 128x48, mma 128x48, plain
-- expect: 89	mma 128x64, mma 128x32, mma 64x64, mma 64x64, mma 128x32, plain, plain;	mma 128x64, mma 64x64, mma 64x64, mma 64x64, mma 64x64, plain
-- expect: 90a	hopper 192x128, hopper 192x80, hopper 192x80, hopper 128x96, mma 128x48, plain, plain;	hopper 192x128, hopper 192x80, hopper 192x80, mma 128x48, refused, plain
-- expect: 100	mma 128x64, mma 128x48, mma 128x48, mma 64x64, mma 128x48, plain, plain;	mma 128x64, mma 128x48, mma 128x48, mma 128x48, mma 128x48, plain
-- expect: 120	mma 128x64, mma 128x32, mma 64x64, mma 64x64, mma 128x32, plain, plain;	mma 128x64, mma 64x64, mma 64x64, mma 64x64, mma 64x64, plain
