-- The kernel of matmul for Hopper compiles for sm_90a in each type, of groups, and where blocks share
-- K, and no thread of it spills registers, except as scripts/matmul_configs.lua allows.
local function check(options)
  local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a scripts/matmul_configs.lua --check %s "
    .. "2>&1; echo $?"
  local pipe = assert(io.popen(command:format(arg[-1], options)))
  io.write(pipe:read("a"))
  pipe:close()
end
check("--families hopper")              -- expect: 0
check("--families --groups --type=bf16 hopper") -- expect: 0
check("--type=bf16 'K in 2'")           -- expect: 0
