-- Cluster launch control: blocks that take the work of blocks that have not begun. On the CPU engine each tile is done
-- once, for grids and clusters of all shapes; what is emitted compiles for each target that has it.
-- needs sm_100a
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local compiled = dofile "tests/support/compiled.lua"

-- One thread of the cluster asks, all threads of its blocks read.
local take = kernel("take", function(X, by)
  local response, answered = shared(u64, { 2, 2 }), mbarrier(2, 1)
  local rank, many = cluster_rank(), cluster_size() > 1
  if many then sync_cluster() else sync_threads() end
  local x, y, z = i32(blockIdx.x), i32(blockIdx.y), i32(blockIdx.z)
  local state, more = pipeline_state(2), blockIdx.x < gridDim.x
  local first_x, first_y, first_z = x, y, z
  while more do
    local slot = state.slot
    if threadIdx.x == 0 then
      answered[slot]:arrive_expect_tx(response(_, slot))
      if rank == 0 then
        clc_try_cancel(response(_, slot), answered[slot], { multicast = true })
      end
    end
    X[{ threadIdx.x, x, y, z }] = X[{ threadIdx.x, x, y, z }] + 1
    answered[slot]:wait(state.parity)
    more = clc_is_canceled(response(_, slot))
    if more then
      local at_x, at_y, at_z = clc_get_first_ctaid(response(_, slot))
      x, y, z = at_x + first_x % by[0], at_y + first_y % by[1], at_z + first_z % by[2]
    end
    fence_proxy_async()
    if many then sync_cluster() else sync_threads() end
    state:advance()
  end
end)

local cases <const> = { { { 1, 1, 1 }, { 1, 1, 1 } }, { { 7, 1, 1 }, { 1, 1, 1 } },
  { { 3, 4, 2 }, { 1, 1, 1 } }, { { 4, 2, 3 }, { 2, 1, 1 } }, { { 4, 6, 1 }, { 2, 3, 1 } },
  { { 2, 2, 4 }, { 1, 2, 2 } } }
for _, case in ipairs(cases) do
  local grid, cluster = case[1], case[2]
  local extents = { 40, grid[1], grid[2], grid[3] }
  local X = zeros(i32, extents)
  take{ grid = grid, block = 40, cluster = cluster }(X, from_table(i32, cluster))
  tap.ok(allclose(X, ones(i32, extents)), ("grid {%s}, clusters {%s}"):format(
    table.concat(grid, ","), table.concat(cluster, ",")), tostring(X))
end

-- Roles: each tile is done once by each of the readers, however far these are apart.
local roles = kernel("roles", function(X)
  local scheduler = clc_scheduler{ readers = 33, stages = X.dtype == i32 and 1 or 3 }
  if cluster_size() > 1 then sync_cluster() else sync_threads() end
  if threadIdx.x == 64 then
    scheduler:fetch()
  elseif threadIdx.x < 33 then
    local work = scheduler:work()
    while work.is_valid do
      X[{ threadIdx.x, work.x, work.y }] = X[{ threadIdx.x, work.x, work.y }] + 1
      work:advance()
    end
  end
  if cluster_size() > 1 then sync_cluster() end
end)
for _, dtype in ipairs { i32, f32 } do
  for _, cluster in ipairs { 1, 2, 4 } do
    local X = zeros(dtype, { 33, 8, 3 })
    roles{ grid = { 8, 3 }, block = 96, cluster = cluster }(X)
    tap.ok(allclose(X, ones(dtype, { 33, 8, 3 })), ("roles, clusters of %d"):format(cluster),
      tostring(X))
  end
end

-- {====== A launch in a file ======

do
  local path <const>, X <const> = os.tmpname(), zeros(f32, { 33, 8, 3 })
  capture(roles:prepare{ grid = { 8, 3 }, block = 96, cluster = 2 }(X), path, { data = true })
  local launch, args = replay(path)
  launch()
  tap.ok(allclose(args[1], ones(f32, { 33, 8, 3 })), "a launch is the same from a file")
  os.remove(path)
end

-- {====== What is emitted ======

local script <const> = os.tmpname()
do
  local file <close> = assert(io.open(script, "w"))
  file:write [[
kernel("take", function(x)
  local scheduler = clc_scheduler{readers = 32, stages = 2}
  sync_cluster()
  if threadIdx.x == 32 then
    scheduler:fetch()
  elseif threadIdx.x < 32 then
    local work = scheduler:work()
    while work.is_valid do
      x[{threadIdx.x, work.x}] = 1
      work:advance()
    end
  end
  sync_cluster()
end){grid = 4, block = 64, cluster = 2}(zeros(i32, {32, 4}))
]]
end
local function emit(options) return (shell.cuttle("emit %s %s", options, script)) end
for _, sm in ipairs { "100a", "100f", "103a", "110a", "120a", "120f", "121a" } do
  local text = compiled(sm, "launch control", script)
  tap.ok(text:find("complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];", 1, true)
    and text:find("query_cancel.is_canceled.pred.b128", 1, true) and text:find "\n}",
    "compiles for " .. sm, text)
end
local said = emit("--sm=90a")
tap.ok(said:find("clc_try_cancel: it needs sm_100, but the kernel is compiled for sm_90", 1, true),
  "sm_90a has none", said)
os.remove(script)
tap.done()
