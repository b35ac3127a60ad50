-- Which products of sharded tensors take the overlapped kernels by themselves, and that launches go
-- through: on a driver of tests/c, whose kernels do nothing.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
gpus.driver = gpus.build("fake_libcuda", "-DFAKE_DEVICES=8 -DWITH_MAPS")

local script = gpus.script [[
local sharded = require "cuttle.sharded_matmul"
local m = mesh{ x = 2 }
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local A, B = empty({ 4096, 512 }, "(M@x,K)"), empty({ 8192, 512 }, "(N@x,K)")
local C = empty({ 4096, 8192 }, "(M,N@x)")
local function say(...)
  local plan = sharded.plan(...)
  print(plan.kernel, plan.why)
end
say(A, B, C)
say(A, B, C, { overlap = false })
say(empty({ 256, 512 }, "(M@x,K)"), B, empty({ 256, 8192 }, "(M,N@x)"))
assert(matmul(A, B, C) == C)
local D, E = empty({ 4096, 16384 }, "(M,K@x)"), empty({ 4096, 16384 }, "(N,K@x)")
local F = empty({ 4096, 4096 }, "(M@x,N)")
say(D, E, F)
for _ = 1, 3 do assert(matmul(D, E, F) == F) end
synchronize()
]]
tap.is(gpus.run("", script), "gather_matmul\tnil\nmatmul\toverlap is false\n"
  .. "matmul\tthe product is too small\nmatmul_scatter\tnil\n", "one process")

-- Before and after the kernels, which use the memory of other ranks, all devices wait for each other.
local order = gpus.script [[
local m = mesh{ x = 2 }
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local y = zeros(f32, 32)
local marker = kernel("marker", function(x) x[threadIdx.x] = 1.0 end){grid = 1, block = 32}
local function run(...)
  marker(y)
  matmul(...)
  marker(y)
end
run(empty({ 4096, 512 }, "(M@x,K)"), empty({ 8192, 512 }, "(N@x,K)"),
  empty({ 4096, 8192 }, "(M,N@x)"))
run(empty({ 4096, 16384 }, "(M,K@x)"), empty({ 4096, 16384 }, "(N,K@x)"),
  empty({ 4096, 4096 }, "(M@x,N)"))
]]
local log = gpus.dir .. "/order"
tap.is(gpus.run(("FAKE_ORDER_LOG='%s'"):format(log), order), "", "products with an order")
local in_turn = "0: marker\n0: after 1\n1: after 0\n0: matmul_bf16\n1: matmul_bf16\n0: after 1\n"
  .. "1: after 0\n0: marker\n"
local seen = gpus.read(log):gsub("1: after 0\n0: after 1\n", "0: after 1\n1: after 0\n")
tap.is(seen, in_turn .. in_turn, "kernels wait for the devices of other ranks")

-- Products that a script launches itself: what lists of tensors the kernels take is copied once.
local lists = gpus.script(([[
local gathering, scattering = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"
local m = mesh{ x = 2 }
local function new(...) return tensor(bf16, row_major{...}) end
local ranks = m:run(function(r)
  local own = { A = new(256, 128), B = new(256, 128), C = new(512, 256), D = new(128, 256) }
  own.spaces = scattering.share(r, scattering.workspace(bf16, 128, 256, 2))
  local all = r:peers(own.A)
  own.panels = { all[0], all[1] }
  return own
end)
for i = 1, 3 do
  if i == 3 then os.remove "CALLS" end
  m:run(function(r)
    local own = ranks[r.rank]
    gathering.gather_matmul(own.panels, r.rank, own.B, own.C)
    scattering.matmul_scatter(own.A, own.B, own.D, r.rank, own.spaces)
  end)
end
local copies, launches = 0, 0
for line in io.lines "CALLS" do
  copies = copies + (line:find "^cuMemcpy" and 1 or 0) + (line:find "Synchronize" and 1 or 0)
  launches = launches + (line:find "^cuLaunch" and 1 or 0)
end
print(copies, launches)
]]):gsub("CALLS", gpus.dir .. "/lists"))
tap.is(gpus.run(("FAKE_CALLS_LOG='%s/lists'"):format(gpus.dir), lists), "0\t4\n",
  "a warm launch of both waits for nothing")

-- Memory for workspaces is kept, and serves smaller products, too.
local memory = gpus.script [[
local m = mesh{ x = 2 }
local scattering, n_made = require "cuttle.matmul_scatter", 0
local make = scattering.memory
function scattering.memory(...)
  n_made = n_made + 1
  return make(...)
end
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local function product(M, N)
  local A, B = empty({ M, 16384 }, "(M,K@x)"), empty({ N, 16384 }, "(N,K@x)")
  local C = empty({ M, N }, "(M@x,N)")
  for _ = 1, 3 do matmul(A, B, C) end
  io.write(n_made, " ")
end
product(4096, 4096)
product(4096, 8192)
product(2048, 4096)
synchronize()
]]
tap.is(gpus.run("", memory), "2 4 4 ", "workspaces made, by two ranks")

-- The launches of a product serve the next one into the same C, until they or their memory change.
local kept = gpus.script [[
local m, n_made = mesh{ x = 2 }, 0
for _, kernels in ipairs{ require "cuttle.gather_matmul", (require "cuttle.matmul_scatter") } do
  local step = kernels.step
  function kernels.step(...)
    n_made = n_made + 1
    return step(...)
  end
end
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local function say() io.write(n_made, " ") end
local A, B = empty({ 4096, 512 }, "(M@x,K)"), empty({ 8192, 512 }, "(N@x,K)")
local C = empty({ 4096, 8192 }, "(M,N@x)")
for _ = 1, 3 do matmul(A, B, C) end
say()
for _ = 1, 2 do matmul(A, B, C, { alpha = 2 }) end
say()
A:close()
A = empty({ 4096, 512 }, "(M@x,K)")
for _ = 1, 2 do matmul(A, B, C, { alpha = 2 }) end
say()
local function product(M, N)
  local D, E = empty({ M, 16384 }, "(M,K@x)"), empty({ N, 16384 }, "(N,K@x)")
  local F = empty({ M, N }, "(M@x,N)")
  return function()
    for _ = 1, 2 do matmul(D, E, F) end
    say()
    return D
  end
end
local small, large = product(4096, 4096), product(4096, 8192)
small()
large()
small()   -- its workspaces were closed
local D = small()
D:close()
print((select(2, pcall(small)):match "the sharded tensor is closed"))
synchronize()
]]
tap.is(gpus.run("", kept), "2 4 6 8 10 12 12 the sharded tensor is closed\n",
  "steps made, by two ranks")

-- Devices that do not reach each other: found when the first product is made.
local apart = gpus.script [[
local sharded = require "cuttle.sharded_matmul"
local m = mesh{ x = 2 }
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local A, B = empty({ 4096, 512 }, "(M@x,K)"), empty({ 8192, 512 }, "(N@x,K)")
local C = empty({ 4096, 8192 }, "(M,N@x)")
print(sharded.plan(A, B, C).kernel)
assert(matmul(A, B, C) == C)
print(sharded.plan(A, B, C).kernel, (sharded.plan(A, B, C).why:match "cannot reach the memory"))
print((select(2, pcall(matmul, A, B, C, { overlap = true })):match "overlap is true, but peer"))
synchronize()
]]
gpus.driver = gpus.build("fake_libcuda", "-DFAKE_DEVICES=8 -DWITH_MAPS -DNO_PEERS=1")
tap.is(gpus.run("", apart), "gather_matmul\nmatmul\tcannot reach the memory\n"
  .. "overlap is true, but peer\n", "devices that do not reach each other")

local one_of_two = gpus.script [[
local sharded = require "cuttle.sharded_matmul"
local m = mesh{ x = 2 }
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
print(sharded.plan(empty({ 4096, 512 }, "(M@x,K)"), empty({ 8192, 512 }, "(N@x,K)"),
  empty({ 4096, 8192 }, "(M,N@x)")).why)
]]
tap.is(gpus.run("RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "
  .. "MASTER_PORT=29500", one_of_two), "the ranks are in several processes\n",
  "a process for each rank")
gpus.done()
