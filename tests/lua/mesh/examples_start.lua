-- The examples with ranks, as one process, torchrun and mpirun start them, on a driver of tests/c. Its kernels do nothing,
-- so they find wrong values where kernels should have written. Until then each way must get them: what ranks reach of
-- each other can be shared, and all make the same calls.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)

local port = "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500"
local launchers = {
  torchrun = "RANK=%d LOCAL_RANK=%d WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 " .. port,
  mpirun = "OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_LOCAL_RANK=%d OMPI_COMM_WORLD_SIZE=2 "
    .. "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=prterun-1 " .. port,
}
-- By example: its small arguments, and what it says of such kernels.
local examples = {
  one_shot_all_reduce = { "64", "element 1 is wrong" },
  two_shot_all_reduce = { "64", "element 1 is wrong" },
  all_gather_product = { "", "rank %d is wrong" },
  expert_dispatch = { "8", "token 0 of rank %d is wrong" },
}

local function lines(environment, name, out)
  return ("timeout -s KILL 300 %s %s > '%s' 2>&1"):format(
    gpus.command(environment .. " CUTTLE_COMM_TIMEOUT=200", ("examples/%s.lua"):format(name)),
    examples[name][1], out)
end

local function check(name, way, rank, path)
  local out = gpus.read(path)
  local first = out:match "[^\n]*"
  gpus.like(first, examples[name][2]:format(rank), ("%s by %s, rank %d"):format(name, way, rank))
end

gpus.driver = gpus.build("fake_libcuda", "-DFAKE_DEVICES=2")
for name in pairs(examples) do
  local out = gpus.dir .. "/out"
  os.execute(lines("", name, out))
  check(name, "one process", 0, out)
  for way, variables in pairs(launchers) do
    local commands, boxes = {}, gpus.dir .. "/boxes"
    os.execute(("rm -rf '%s'; mkdir '%s'"):format(boxes, boxes))
    for rank = 0, 1 do
      commands[rank + 1] = lines(("FAKE_NCCL_DIR='%s' "):format(boxes) .. variables:format(rank,
        rank), name, out .. rank) .. " &"
    end
    os.execute(table.concat(commands, " ") .. " wait")
    for rank = 0, 1 do check(name, way, rank, out .. rank) end
  end
end
gpus.done()
