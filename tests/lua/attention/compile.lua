-- The kernels of attention that are shipped for Hopper compile for sm_90a, with the registers that a
-- block of 512 threads has and no stack: nothing is spilled, and ptxas does not serialise products.
-- So does the one with most registers of those for sm_80. What the ledger knows to have them is not
-- compiled again.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local path <const> = shell.file [==[
package.path = "tests/support/?.lua;scripts/?.lua;" .. package.path
local internal, attention_of = require "internal", require "cuttle.attention"
local machine_code = require "cuttle.cubin"
local ledger = require "ledger"
local cases = {["90a"] = {{"hopper 192x80", 128, true, false, registers = 128},
    {"hopper 192x128", 64, false, true, registers = 128},
    {"hopper 128x128, D 192", 192, true, false, 128, registers = 168},
    {"hopper 128x128, f8", 128, true, false, nil, f8e4m3, registers = 168},
    {"hopper 128x128, f8, D 192", 192, true, false, 128, f8e4m3, registers = 168},
    {"hopper 128x128, f8, Dv 192", 192, true, false, nil, f8e4m3, registers = 168},
    {"hopper 128x96, f8", 256, true, false, nil, f8e4m3, registers = 168}},
  ["80"] = {{"mma 128x48", 128, true, true, registers = 255}}}
for _, case in ipairs(cases[arg[1]]) do
  local dtype = case[6] or bf16
  local Q = zeros(dtype, row_major{1, 2, 256, case[2]})
  local options = {config = case[1], causal = case[3], lazy = case[4], lse = true}
  local K = zeros(dtype, row_major{1, 2, 256, case[2]})
  local V = zeros(dtype, row_major{1, 2, 256, case[5] or case[2]})
  local step = select(5, attention_of.prepare(Q, K, V, options))
  local launch = step.kernel(step.launch)
  local key, name = ledger.key(launch, table.unpack(step.args)), "attention with lse: " .. case[1]
  local registers, stack = case.registers, 0
  if not ledger.has(key, name, registers .. " registers") then
    local cubin = launch:cubin(table.unpack(step.args))
    registers, stack = machine_code.resources(cubin, "attention_" .. dtype.name)
    local log = internal.launch.compile_log(launch, table.unpack(step.args))
    if log:find "wgmma%.mma_async instructions are serialized" then stack = "serialised" end
  end
  if stack == 0 then ledger.note(key, name, registers .. " registers") end
  print(case[1], registers, stack)
end
]==]
local function run(sm) return (shell.cuttle("--sm=%s %s %s", sm, path, sm)) end
local text = run "90a" .. run "80"
if text:find("cannot load", 1, true) then
  tap.skip_all "no NVRTC on this machine"
else
  io.write(text)
  -- expect: hopper 192x80	128	0
  -- expect: hopper 192x128	128	0
  -- expect: hopper 128x128, D 192	168	0
  -- expect: hopper 128x128, f8	168	0
  -- expect: hopper 128x128, f8, D 192	168	0
  -- expect: hopper 128x128, f8, Dv 192	168	0
  -- expect: hopper 128x96, f8	168	0
  -- expect: mma 128x48	255	0
end
os.remove(path)
