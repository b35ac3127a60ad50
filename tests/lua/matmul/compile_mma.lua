-- Every configuration of matmul for tensor cores that is shipped compiles for sm_90a, in every
-- majorness that it is for, and no thread of it spills registers.
local command = "CUTTLE_DEVICE=cpu '%s' --sm=90a scripts/matmul_configs.lua --check mma 2>&1; "
  .. "echo $?"
local pipe = assert(io.popen(command:format(arg[-1])))
io.write(pipe:read("a"))  -- expect: 0
pipe:close()
