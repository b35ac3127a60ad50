-- processes.lua: which of how many processes this one is, and where they meet. Launchers say the
-- first by their environment (interp/state/launcher.c); NCCL's bootstrap does all the talking.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

-- Ports below those that systems give to outgoing connections.
local FIRST_PORT <const>, N_PORTS <const> = 23000, 9000

-- What tells one job from another on the same machine: by launcher, variables that all its
-- processes share.
local jobs = {
  ["Open MPI"] = { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID" },
  MPICH = { "SLURM_JOB_ID" },
  Slurm = { "SLURM_JOB_ID", "SLURM_STEP_ID" },
}

local function env(name)
  local text = internal.mesh.comm_env(name)
  return text ~= "" and text or nil
end

local function fail(...) tiles.fail("launcher", ...) end

-- A port that differs between jobs, mostly.
local function port_of(launcher)
  local hash = 5381
  for _, name in ipairs(jobs[launcher] or {}) do
    for _, byte in ipairs { (env(name) or ""):byte(1, -1) } do
      hash = (hash * 33 + byte) % 0x100000000
    end
  end
  return FIRST_PORT + hash % N_PORTS
end

local function join(host, port)
  return (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port)
end

-- "host:port" as somebody wrote it in a variable.
local function check_address(name, text)
  local port = text:match("^[^%s:]+:(%d+)$") or text:match("^%[%S+%]:(%d+)$")
  port = port and math.tointeger(tonumber(port))
  if not port or port < 1 or port > 65535 then
    fail("%s is '%s'; the host of rank 0 and a free port were expected, as in node0:29400", name,
      text)
  end
  return text
end

-- torchrun's own store listens at MASTER_PORT, so the next one is taken.
local function torch_address()
  local host, port = env "MASTER_ADDR", env "MASTER_PORT"
  if not host or not port then
    fail("%s is not set, though RANK and WORLD_SIZE are; set MASTER_ADDR and MASTER_PORT, or "
      .. "CUTTLE_COMM_ID=host:port for all ranks", host and "MASTER_PORT" or "MASTER_ADDR")
  end
  local number = math.tointeger(tonumber(port))
  if not number or number < 1 or number > 65535 then
    fail("MASTER_PORT is '%s'; a number from 1 to 65535 was expected", port)
  end
  return join(host, number < 65535 and number + 1 or number - 1)
end

--- The first host of a list of Slurm's: "node[007-010,12],gpu1" begins with node007.
function M.first_host(list)
  local head, inside, tail = list:match("^([^,%[]*)%[([^%]]*)%]([^,]*)")
  if not head then return list:match("^[^,]+") end
  return head .. inside:match("^[^,%-]+") .. tail
end

local function slurm_host()
  local nodes = env "SLURM_STEP_NODELIST" or env "SLURM_JOB_NODELIST"
  return nodes and M.first_host(nodes) or env "SLURM_LAUNCH_NODE_IPADDR"
end

local function is_one_machine(p)
  if p.launcher == "Slurm" then
    return (env "SLURM_STEP_NUM_NODES" or env "SLURM_NNODES") == "1"
  end
  return p.local_size == p.size
end

local function address_of(p)
  for _, name in ipairs { "CUTTLE_COMM_ID", "NCCL_COMM_ID" } do
    if env(name) then return check_address(name, env(name)) end
  end
  if p.launcher == "torchrun" then return torch_address() end
  local host = is_one_machine(p) and "127.0.0.1" or p.launcher == "Slurm" and slurm_host()
  if host then return join(host, port_of(p.launcher)) end
  fail("%s started %d processes, but does not say on which machine rank 0 is; set "
    .. "CUTTLE_COMM_ID=host:port for all ranks, as in mpirun -x CUTTLE_COMM_ID=node0:29400",
    p.launcher, p.size)
end

--- {launcher =, rank =, size =, local_rank =, address =}; nil where this process is the only one.
-- Raises where the launcher's variables contradict each other.
function M.find()
  local found = internal.mesh.launcher()
  if not found or found.size == 1 then return nil end
  local p = { launcher = found.name, rank = found.rank, size = found.size,
    local_rank = found.local_rank, local_size = found.local_size, local_name = found.local_name }
  p.address = address_of(p)
  return p
end

--- The device of a process among the n that it sees. A launcher may show each process its own only.
function M.device(p, n)
  if p.local_rank < n then return "cuda:" .. p.local_rank end
  if n == 1 then return "cuda:0" end
  fail("%s is %d, but this process sees %d CUDA devices; start one process for each device, or "
    .. "show each process its own with CUDA_VISIBLE_DEVICES", p.local_name, p.local_rank, n)
end

--- How long a collective may take, in seconds.
function M.seconds()
  return M.limit() or 300
end

--- The same for what has no limit if nobody set one, such as a kernel that waits for other ranks:
--- nil then.
function M.limit()
  local seconds = internal.mesh.env_number("CUTTLE_COMM_TIMEOUT", 1000000000)
  if seconds == 0 then
    fail "CUTTLE_COMM_TIMEOUT is '0'; a number of seconds above 0 was expected"
  end
  return seconds
end

--- Whether calls block the host; nil if nothing is said.
function M.blocks() return internal.mesh.env_flag "CUTTLE_COMM_BLOCKING" end

return M
