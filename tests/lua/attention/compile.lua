-- The kernels of attention that are shipped for Hopper compile for sm_90a, with the registers that a
-- block of 512 threads has and no stack: nothing is spilled.
local path <const> = os.tmpname()
local file = assert(io.open(path, "w"))
file:write [[
local cuttle, attention_of = require "cuttle", require "cuttle.attention"
for _, case in ipairs{{"hopper 192x80", 128, true, false}, {"hopper 192x128", 64, false, true}} do
  local Q = zeros(bf16, row_major{1, 2, 256, case[2]})
  local options = {config = case[1], causal = case[3], lazy = case[4], lse = true}
  local K = zeros(bf16, row_major{1, 2, 256, case[2]})
  local step = select(5, attention_of.prepare(Q, K, K, options))
  local source = step.kernel(step.launch):source(table.unpack(step.args))
  local sm = select(2, cuttle._emit_sm())
  print(case[1], cuttle._profile_registers(source, sm, "attention_bf16", {}))
end
]]
file:close()
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a %s 2>&1"
local pipe = assert(io.popen(command:format(arg[-1], path)))
local text = pipe:read("a")
pipe:close()
if text:find("cannot load", 1, true) then
  print "1..0 # skip no NVRTC on this machine"
else
  io.write(text)
  -- expect: hopper 192x80	128	0
  -- expect: hopper 192x128	128	0
end
os.remove(path)
