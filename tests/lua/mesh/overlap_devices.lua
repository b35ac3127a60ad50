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
gpus.done()
