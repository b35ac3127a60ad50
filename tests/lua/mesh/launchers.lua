-- Which of how many processes this one is, and where they meet, by the environments of launchers.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)

local who = gpus.script [[
local processes = require "cuttle.processes"
local p = processes.find()
if p then
  print(("%s: %d of %d, %s, at %s"):format(p.launcher, p.rank, p.size, processes.device(p, 8),
    p.address))
else
  print "no launcher"
end
]]
local function is_found(environment, want)
  tap.is(gpus.run(environment, who), want .. "\n", want)
end
local function is_refused(environment, pattern)
  gpus.like(gpus.run(environment, who), pattern, pattern:match("^[^;]+"))
end
local t <const> = "RANK=5 WORLD_SIZE=16 LOCAL_RANK=1 "
local o <const> = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "
  .. "OMPI_COMM_WORLD_LOCAL_SIZE=2 "
local h <const> = "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4 "
local s <const> = "SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_STEP_ID=0 SLURM_JOB_ID=77 "
is_found("", "no launcher")
is_found(t .. "MASTER_ADDR=node0 MASTER_PORT=29500", "torchrun: 5 of 16, cuda:1, at node0:29501")
is_found(t .. "MASTER_ADDR=fe80::1 MASTER_PORT=65535", "torchrun: 5 of 16, cuda:1, at "
  .. "[fe80::1]:65534")
is_found(t .. o .. s .. "MASTER_ADDR=n MASTER_PORT=1", "torchrun: 5 of 16, cuda:1, at n:2")
is_found(t .. "CUTTLE_COMM_ID=me:99 NCCL_COMM_ID=you:88", "torchrun: 5 of 16, cuda:1, at me:99")
is_found(t .. "NCCL_COMM_ID=[::1]:88", "torchrun: 5 of 16, cuda:1, at [::1]:88")
is_found(o .. "PMIX_NAMESPACE=prterun-a-1", "Open MPI: 1 of 2, cuda:1, at 127.0.0.1:23737")
is_found(h, "MPICH: 2 of 4, cuda:2, at 127.0.0.1:28381")
is_found(s .. "SLURM_STEP_NODELIST='node[007-008,012]-gpu,x1' SLURM_NNODES=2", "Slurm: 9 of 16, "
  .. "cuda:1, at node007-gpu:24755")
is_found(s .. "SLURM_LAUNCH_NODE_IPADDR=10.0.0.7 SLURM_NNODES=2", "Slurm: 9 of 16, cuda:1, at "
  .. "10.0.0.7:24755")
is_found(s .. "SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=a", "Slurm: 9 of 16, cuda:1, at "
  .. "127.0.0.1:24755")
is_found("SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_LOCALID=0 SLURM_JOB_ID=7", "no launcher")
is_found("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0", "no "
  .. "launcher")
is_refused("RANK=1 LOCAL_RANK=1", "launcher: WORLD_SIZE is not set, though other variables of "
  .. "torchrun are; set RANK, "
  .. "WORLD_SIZE and LOCAL_RANK, or none of them")
is_refused("RANK=4 WORLD_SIZE=4 LOCAL_RANK=0", "launcher: RANK is 4 and WORLD_SIZE is 4; ranks "
  .. "go from 0 to 3")
is_refused("RANK=x WORLD_SIZE=4 LOCAL_RANK=0", "RANK is 'x'; an integer from 0 to "
  .. "2147483647 was expected")
is_refused(t:gsub("LOCAL_RANK=1", "LOCAL_RANK=2 LOCAL_WORLD_SIZE=2"),
  "launcher: LOCAL_RANK is 2 and LOCAL_WORLD_SIZE is 2; ranks go from 0 to 1")
is_refused(t .. "LOCAL_WORLD_SIZE=17", "launcher: LOCAL_WORLD_SIZE is 17 and WORLD_SIZE is 16; "
  .. "a machine has no more "
  .. "processes than there are")
is_refused(t, "launcher: MASTER_ADDR is not set, though RANK and WORLD_SIZE are; set "
  .. "MASTER_ADDR and MASTER_PORT, or "
  .. "CUTTLE_COMM_ID=host:port for all ranks")
is_refused(t .. "MASTER_ADDR=a MASTER_PORT=0", "launcher: MASTER_PORT is '0'; a number from 1 "
  .. "to 65535 was expected")
is_refused(t .. "CUTTLE_COMM_ID=node0", "launcher: CUTTLE_COMM_ID is 'node0'; the host of rank "
  .. "0 and a free port were "
  .. "expected, as in node0:29400")
is_refused(o:gsub("LOCAL_SIZE=2", "LOCAL_SIZE=1"):gsub("LOCAL_RANK=1", "LOCAL_RANK=0"),
  "launcher: Open MPI started 2 processes, but does not say on which machine rank 0 is; set "
    .. "CUTTLE_COMM_ID=host:port for "
  .. "all ranks, as in mpirun .x CUTTLE_COMM_ID=node0:29400")
is_refused("RANK=9 WORLD_SIZE=16 LOCAL_RANK=8 MASTER_ADDR=a MASTER_PORT=1", "launcher: "
  .. "LOCAL_RANK is 8, but this process "
  .. "sees 8 CUDA devices; start one process for each device, or show "
  .. "each process its own with CUDA_VISIBLE_DEVICES")
local plain = gpus.script [[device "cuda"; print(zeros(f32, 1).device)]]
tap.is(gpus.run(o, plain), "cuda:1\n", "plain \"cuda\" is the process's own device")
tap.is(gpus.run(o:gsub("=2", "=one"), plain), "cuda:0\n", "or the first where that is not known")

local count = gpus.script [[device "cuda"; print(device().n_devices)]]
tap.is(gpus.run("", count), "8\n", "a mesh can have all devices")
tap.is(gpus.run(o, count), "2\n", "or one for each process")

gpus.done()
