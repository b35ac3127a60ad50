-- The kernels of gather_matmul compile for sm_90a, and no thread of them spills registers: plain
-- ones, and with beta, bias and an epilogue.
local script = os.tmpname()
local file = assert(io.open(script, "w"))
file:write [[
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local gather = require "cuttle.gather_matmul"
local function tensor_of(m, n) return tensor(bf16, row_major{m, n}) end
local B, C = tensor_of(512, 512), tensor_of(1024, 512)
local panels = {tensor_of(512, 512), tensor_of(512, 512)}
local function larger(v, m) return max(v, m) end
for _, config in ipairs(gather.configs) do
  local rich = {beta = 1, bias = tensor(f32, 512), epilogue = larger}
  for _, options in ipairs{{}, not config.when and rich or nil} do
    options.config = config.name
    local step = gather.step(panels, 1, B, C, options)
    local source = step.kernel(step.launch):source(table.unpack(step.args))
    local registers, stack = internal.profile_registers(source, 90, "matmul_bf16", {})
    if registers == nil and not stack:find("cannot load", 1, true) then print(stack) end
    if registers and stack > 0 then print(config.name, stack, "bytes of stack") end
  end
end
]]
file:close()
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a %s 2>&1; echo $?"
local pipe = assert(io.popen(command:format(arg[-1], script)))
io.write(pipe:read("a"))  -- expect: 0
pipe:close()
os.remove(script)
