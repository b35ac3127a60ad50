-- The kernels of gather_matmul and matmul_scatter compile for sm_90a, and no thread of them spills
-- registers: plain ones, and of the first with beta, bias and an epilogue.
local script = os.tmpname()
local file = assert(io.open(script, "w"))
file:write [[
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local gather = require "cuttle.gather_matmul"
local function tensor_of(m, n) return tensor(bf16, row_major{m, n}) end
local B, C = tensor_of(512, 512), tensor_of(1024, 512)
local panels = {tensor_of(512, 512), tensor_of(512, 512)}
local function look(step, name)
  local source = step.kernel(step.launch):source(table.unpack(step.args))
  local registers, stack = internal.watch.profile_registers(source, 90, "matmul_bf16", {})
  if registers == nil and not stack:find("cannot load", 1, true) then print(stack) end
  if registers and stack > 0 then print(name, stack, "bytes of stack") end
end
local function larger(v, m) return max(v, m) end
for _, config in ipairs(gather.configs) do
  local rich = {beta = 1, bias = tensor(f32, 512), epilogue = larger}
  for _, options in ipairs{{}, not config.when and rich or nil} do
    options.config = config.name
    look(gather.step(panels, 1, B, C, options), config.name)
  end
end
local scatter = require "cuttle.matmul_scatter"
local spaces = {scatter.workspace(bf16, 512, 512, 2), scatter.workspace(bf16, 512, 512, 2)}
for _, config in ipairs(scatter.configs) do
  look(scatter.step(C, B, panels[1], 1, spaces, {config = config.name}), config.name)
end
]]
file:close()
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a %s 2>&1; echo $?"
local pipe = assert(io.popen(command:format(arg[-1], script)))
io.write(pipe:read("a"))  -- expect: 0
pipe:close()
os.remove(script)
