-- The kernels of gather_matmul and matmul_scatter compile for sm_90a, and no thread of them spills
-- registers: plain ones, and of the first with beta, bias and an epilogue. What the ledger knows not
-- to spill is not compiled again.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
package.path = "scripts/?.lua;" .. package.path
local machine_code = require "cuttle.cubin"
local ledger = require "ledger"
local gather = require "cuttle.gather_matmul"
local function tensor_of(m, n) return tensor(bf16, row_major{m, n}) end
local B, C = tensor_of(512, 512), tensor_of(1024, 512)
local panels = {tensor_of(512, 512), tensor_of(512, 512)}
local function look(step, name)
  local launch = step.kernel(step.launch)
  local key = ledger.key(launch, table.unpack(step.args))
  if ledger.has(key, name, "no stack") then return end
  local registers, stack = machine_code.resources_of(launch:source(table.unpack(step.args)),
    90, "matmul_bf16", {})
  if registers == nil and not stack:find("cannot load", 1, true) then print(stack) end
  if registers and stack > 0 then print(name, stack, "bytes of stack") end
  if stack == 0 then ledger.note(key, name, "no stack") end
end
local function larger(v, m) return max(v, m) end
for _, config in ipairs(gather.configs) do
  local rich = {beta = 1, bias = tensor(f32, 512), epilogue = larger}
  for _, options in ipairs{{}, not config.when and rich or nil} do
    options.config = config.name
    look(gather.step(panels, 1, B, C, options), ("gather_matmul%s: %s"):format(
      options.beta and " with more" or "", config.name))
  end
end
local scatter = require "cuttle.matmul_scatter"
local spaces = {scatter.workspace(bf16, 512, 512, 2), scatter.workspace(bf16, 512, 512, 2)}
for _, config in ipairs(scatter.configs) do
  look(scatter.step(C, B, panels[1], 1, spaces, {config = config.name}),
    "matmul_scatter: " .. config.name)
end
]]
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a %s 2>&1; echo $?"
local pipe = assert(io.popen(command:format(arg[-1], script)))
io.write(pipe:read("a"))  -- expect: 0
pipe:close()
os.remove(script)
