-- What operations on two floats of 32 bits are emitted as: it compiles for targets with the
-- instruction and without. tests/lua/kernel/float_pairs.lua compares the bits.
-- needs sm_100
local tap = dofile "tests/support/tap.lua"

local script <const> = os.tmpname()
do
  local file <close> = assert(io.open(script, "w"))
  file:write [[
kernel("k", function(x)
  local w = recast(x, u64)
  local v = f32x2.fma(w[0], w[1], f32x2(2.0))
  w[0] = f32x2.add(v, f32x2.sub(f32x2.mul(v, w[1]), w[2]))
end){grid = 1, block = 1}(ones(f32, 8))
]]
end
for _, sm in ipairs { "80", "90a", "100a", "103a", "110a", "120a", "121a" } do
  local command = ("CUTTLE_DEVICE=cpu '%s' emit --compile --sm=%s %s 2>&1"):format(arg[-1], sm,
    script)
  local pipe <close> = assert(io.popen(command))
  local text, is_new = pipe:read("a"), tonumber(sm:match "%d+") >= 100
  local has = true
  for _, op in ipairs { "fma", "add", "sub", "mul" } do
    has = has and (text:find(op .. ".rn.f32x2", 1, true) ~= nil) == is_new
  end
  tap.ok(has and not text:find "error", ("compiles for sm_%s, %s the instruction"):format(sm,
    is_new and "with" or "without"), text)
end
os.remove(script)
tap.done()
