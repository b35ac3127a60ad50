-- Kernels of matmul whose epilogue has outputs, reductions or pairs of columns compile for sm_80
-- and sm_90a, one of each template, those whose blocks of K have scales for sm_89 and sm_90a, and no
-- thread of them spills registers. What the ledger knows not to spill is not compiled again.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
package.path = "scripts/?.lua;" .. package.path
local sm = tonumber(arg[1])
local ledger = require "ledger"
local machine_code = require "cuttle.cubin"
local operator = require "cuttle.matmul"
local function ending(v, e)
  e.pre, e.norm, e.peak = v, v * v, abs(v)
  return max(v, 0.0)
end
local function gated(gate, up) return max(gate, 0.0) * up end
local function look_at(launch, args, config)
  local key, title = ledger.key(launch, table.unpack(args)), "matmul with an epilogue: " .. config
  if ledger.has(key, title, "no stack") then return end
  local source = launch:source(table.unpack(args))
  local name = source:match "__launch_bounds__%b()%s+([%w_]+)"
  local registers, stack = machine_code.resources_of(source, sm, name, {})
  if registers == nil and not stack:find("cannot load", 1, true) then print(config, stack) end
  if registers and stack > 0 then print(config, name, stack, "bytes of stack") end
  if stack == 0 then ledger.note(key, title, "no stack") end
end
local function look(A, B, C, options, config)
  options.config, options.split = config, 1
  for _, step in ipairs(select(3, operator.prepare(A, B, C, options))) do
    look_at(step.kernel(step.launch), step.args, config)
  end
end
local function try(dtype, config)
  local A, B = zeros(dtype, row_major{264, 128}), zeros(dtype, row_major{264, 128})
  local pre, norm, peak = zeros(dtype, row_major{264, 264}), zeros(f32, 264), zeros(f32, 1)
  look(A, B, zeros(dtype, row_major{264, 264}), { epilogue = ending,
    outputs = { pre = pre, norm = {norm, "row_sum"}, peak = {peak, "max"} } }, config)
  if config:find "^dots" then return end
  look(A, zeros(dtype, row_major{272, 128}), zeros(dtype, row_major{264, 136}),
    { epilogue = gated, glu = true }, config)
end
local function scaled(config)
  local A, B, C = zeros(f8e4m3, row_major{264, 384}), zeros(f8e4m3, row_major{264, 384}),
    zeros(bf16, row_major{264, 264})
  for _, rows in ipairs{3, 264} do
    look(A, B, C, { scale_a = zeros(f32, {264, 3}), scale_b = zeros(f32, {rows, 3}) }, config)
  end
end
if sm >= 89 then scaled "mma 64x64x128, f8" end
if sm == 89 then
  scaled "mma 128x128x128, 8 warps"
  return
end
for _, config in ipairs{"simt 64x64x16 turned", "dots 32x16x32"} do try(f32, config) end
try(bf16, "mma 64x64x64")
if sm == 90 then
  for _, config in ipairs{"hopper 64x64x64", "hopper 128x128x64"} do
    try(bf16, config)
  end
  for _, config in ipairs{"hopper 64x64x128, scaled", "hopper 128x128x128, scaled"} do
    scaled(config)
  end
end
]]
for _, sm in ipairs { "80", "89", "90a" } do
  local command = "CUTTLE_DEVICE=cpu '%s' --sm=%s %s %s 2>&1; echo $?"
  local pipe = assert(io.popen(command:format(arg[-1], sm, script, sm:match "%d+")))
  io.write(pipe:read("a"))
  pipe:close()
end
os.remove(script)
-- expect: 0
-- expect: 0
-- expect: 0
