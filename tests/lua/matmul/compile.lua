-- Every configuration of matmul for CUDA cores that is shipped compiles for sm_90a, in every majorness
-- that it is for, and no thread of it spills registers; one kernel of each template and type does for
-- others. compile_mma.lua: those for tensor cores.
local function check(sm, options)
  local command = "CUTTLE_DEVICE=cpu '%s' --sm=%s scripts/matmul_configs.lua --check %s 2>&1; "
    .. "echo $?"
  local pipe = assert(io.popen(command:format(arg[-1], sm, options)))
  io.write(sm, " ", pipe:read("a"))
  pipe:close()
end
check("90a", "simt")        -- expect: 90a 0
check("90a", "simple")      -- expect: 90a 0
check("75", "--families")   -- expect: 75 0
check("80", "--families")   -- expect: 80 0
check("89", "--families")   -- expect: 89 0
