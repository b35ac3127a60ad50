-- Every configuration of matmul that is shipped compiles for sm_90a, in every majorness that it is
-- for, and no thread of it spills registers.
local command = ("'%s' scripts/matmul_configs.lua --check 2>&1; echo $?"):format(arg[-1])
local pipe = assert(io.popen(command))
io.write(pipe:read("a"))
pipe:close()
-- expect: 0
