-- The kernels of packed weights compile for sm_80 and sm_90a, and no thread of them spills
-- registers. What the ledger knows not to spill is not compiled again.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
package.path = "scripts/?.lua;" .. package.path
local ledger = require "ledger"
local machine_code = require "cuttle.cubin"
local packed = require "cuttle.packed_weights"
local operator = require "cuttle.matmul"
local function check(name, m, T, config, G)
  local function of(dtype, columns)
    return zeros(dtype, G and {64, columns, G} or row_major{64, columns})
  end
  local w = packed.pack_weights(of(u8, 256), {type = name,
    scales = of(T.bits == 8 and f32 or T, name == "f4e2m1" and 8 or 2)})
  local X = zeros(T, row_major{m, 256})
  local C = zeros(T.bits == 8 and bf16 or T, row_major{m, G and 32 or 64})
  local how = {config = config, groups = G and zeros(i32, G), glu = G and true,
    epilogue = G and function(v, u) return max(v, 0.0) * u end}
  for _, step in ipairs(select(3, operator.prepare(X, w, C, how))) do
    local launch = step.kernel(step.launch)
    local key = ledger.key(launch, table.unpack(step.args))
    local title = ("packed %s, %d rows"):format(name, m)
    if not ledger.has(key, title, "no stack") then
      local cubin = launch:cubin(table.unpack(step.args))
      local symbol = launch:source(table.unpack(step.args)):match
        "__launch_bounds__%b()%s*([%w_]+)%("
      local registers, stack = machine_code.resources(cubin, symbol)
      if stack ~= 0 then print(name, m, T, registers, stack) end
      if stack == 0 then ledger.note(key, title, "no stack") end
    end
  end
end
check("u4", 1, bf16)
check("nf4", 16, f16)
check("u8", 8, bf16)
check("u4", 16, bf16, nil, 3)
if arg[1] == "hopper" then
  check("u4", 256, bf16, {groups = 2, columns = 256, stages = 4, min_blocks = 1,
    registers = {40, 232}})
  check("f4e2m1", 100, f16, {groups = 1, columns = 128, stages = 4, min_blocks = 2,
    registers = {40, 208}})
  check("nf4", 40, bf16, {groups = 1, columns = 64, stages = 6, min_blocks = 2})
  check("u4", 128, bf16, {groups = 2, columns = 128, stages = 5, min_blocks = 1, k_blocks = 2})
  check("u4", 256, bf16, {groups = 2, columns = 128, stages = 4, min_blocks = 1,
    registers = {40, 232}}, 3)
  check("u4", 256, bf16, {groups = 2, schedule = "ping-pong", columns = 128, stages = 4, depth = 4,
    min_blocks = 1, registers = {40, 232}}, 3)
  check("u4", 8, f8e4m3)
  check("u4", 8, i8)
  check("u4", 256, i8, {groups = 2, columns = 128, stages = 4, min_blocks = 1,
    registers = {40, 232}})
  check("u4", 256, f8e4m3, {groups = 2, columns = 128, stages = 5, min_blocks = 1,
    registers = {40, 232}})
  check("f4e2m1", 256, f8e4m3, {groups = 2, columns = 128, stages = 4, min_blocks = 1,
    registers = {40, 232}})
end
]]
for _, how in ipairs{"--sm=80", "--sm=90a"} do
  local words = how == "--sm=90a" and "hopper" or ""
  local command = "CUTTLE_DEVICE=cpu '%s' %s %s %s 2>&1; echo $?"
  local pipe = assert(io.popen(command:format(arg[-1], how, script, words)))
  io.write(how, " ", pipe:read "a")
  pipe:close()
end
os.remove(script)
-- expect: --sm=80 0
-- expect: --sm=90a 0
