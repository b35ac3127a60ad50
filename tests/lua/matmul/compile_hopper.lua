-- The kernel of matmul for Hopper compiles for sm_90a in each type, and no thread of it spills registers.
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a scripts/matmul_configs.lua --families --check "
  .. "hopper 2>&1; echo $?"
local pipe = assert(io.popen(command:format(arg[-1])))
io.write(pipe:read("a"))  -- expect: 0
pipe:close()
