-- fake_gpus.lua: programs that believe in eight GPUs and NCCL: with the driver and the library of tests/c, which
-- are the host's memory. Use:
--   local gpus = dofile "tests/support/fake_gpus.lua"(tap)     skips the test where there is no C compiler
local M = {}

local names = {
  "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
  "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
  "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
  "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID",
  "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_LAUNCH_NODE_IPADDR",
  "SLURM_NNODES", "SLURM_STEP_NUM_NODES", "NCCL_COMM_ID", "CUTTLE_COMM_ID",
  "CUTTLE_COMM_TIMEOUT", "CUTTLE_COMM_BLOCKING" }

local tap, n_scripts = nil, 0

--- Compiles a file of tests/c; its path, or nil without a compiler.
function M.build(source, flags)
  local out = ("%s/%s%s.so"):format(M.dir, source, flags:gsub("%W", ""))
  local cc = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -pthread -I. %s -o '%s' "
    .. "tests/c/%s.c -ldl 2>/dev/null"):format(os.getenv("CC") or "cc", flags, out, source)
  return os.execute(cc) and out
end

--- A file with the text; its path.
function M.script(text)
  n_scripts = n_scripts + 1
  local path = ("%s/s%d.lua"):format(M.dir, n_scripts)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

--- The command line that runs a script with variables: none of a launcher's but those.
function M.command(environment, path)
  return ("env -u %s CUTTLE_LIBCUDA='%s' CUTTLE_NCCL='%s' CUTTLE_DEVICE=cuda %s '%s' '%s'"):format(
    table.concat(names, " -u "), M.driver, M.nccl, environment, arg[-1], path)
end

--- Its output, in which scripts are called x.lua, and the program's result.
function M.capture(line)
  local pipe = assert(io.popen(line .. " 2>&1"))
  local out = pipe:read("a")
  local _, _, code = pipe:close()
  return out:gsub(M.dir .. "/s%d+", "x"), code
end

function M.run(environment, path) return M.capture(M.command(environment, path)) end

--- The text of a file, which is removed.
function M.read(path)
  local file = io.open(path)
  local text = file and file:read("a") or ""
  if file then file:close() end
  os.remove(path)
  return text
end

function M.like(got, pattern, name)
  tap.ok(got:find(pattern) ~= nil, name, "got: " .. got, "expected: " .. pattern)
end

function M.done()
  os.execute(("rm -r '%s'"):format(M.dir))
  tap.done()
end

return function(own_tap)
  tap = own_tap
  M.dir = os.tmpname()
  os.remove(M.dir)
  assert(os.execute(("mkdir -p '%s'"):format(M.dir)))
  M.driver, M.nccl = M.build("fake_libcuda", "-DFAKE_DEVICES=8"), M.build("fake_nccl", "")
  if not M.driver or not M.nccl then
    tap.skip_all "no C compiler"
  end
  return M
end
