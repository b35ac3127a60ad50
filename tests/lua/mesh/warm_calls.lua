-- What a reshard and a product ask of the driver and of NCCL once they are warm: on a driver and an NCCL of tests/c,
-- which write down their calls. Plans are found again by layouts, and only by them.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
local calls = gpus.dir .. "/calls"

-- A script with log(name, f): prints how often each call was made while f ran, but for those that a count of
-- contexts is.
local head = ([[
local path = "CALLS"
local quiet = { cuCtxGetCurrent = true, cuCtxPushCurrent_v2 = true, cuCtxPopCurrent_v2 = true,
  cuCtxGetDevice = true, cuStreamIsCapturing = true }
local function log(name, f)
  os.remove(path)
  f()
  local count, names, parts = {}, {}, {}
  for line in (io.open(path) and io.lines(path) or function() end) do
    if not quiet[line] then
      if not count[line] then names[#names + 1] = line end
      count[line] = (count[line] or 0) + 1
    end
  end
  table.sort(names)
  for i, call in ipairs(names) do parts[i] = call .. " " .. count[call] end
  print(name .. ": " .. table.concat(parts, ", "))
end
local m = mesh{ x = 2 }
local function is_same(a, b) return reference.difference(a:to "cpu", b:to "cpu") == nil end
]]):gsub("CALLS", calls)

local reshards = gpus.script(head .. [[
local t = arange(f32, { 8, 24 }):to "cpu"
local ways = { { "(M,K@x)", "(M,K)" }, { "(M,K,@x+)", "(M,K@x)" }, { "(M,K,@x+)", "(M,K)" },
  { "(M,K@x)", "(M@x,K)" } }
for _, p in ipairs(ways) do
  local x = shard(t, p[1], m)
  for _ = 1, 40 do reshard(x, p[2]):close() end
  synchronize()
  local y
  log("warm", function() y = reshard(x, p[2]) end)
  assert(is_same(y:whole(), t))
  log("closed", function() y:close() end)
end
-- The same spec from another layout, and to another shape: each has a plan of its own.
local x, w = shard(t, "(M,K@x)", m), shard(t, "(M,K,@x+)", m)
for _ = 1, 2 do
  for _, z in ipairs{ x, w } do assert(is_same(reshard(z, "(M,K)"):whole(), t)) end
end
local u = shard(arange(f32, { 24, 8 }):to "cpu", "(M,K@x)", m)
assert(is_same(reshard(u, "(M,K)"):whole(), arange(f32, { 24, 8 }):to "cpu"))
assert(reshard(x, "(M,K)").sharding == reshard(x, "(M,K)").sharding)
-- New communicators are found, too.
x.engine:close()
local y = reshard(x, "(M,K)")
assert(is_same(y:whole(), t))
-- A row that a script still looks at is not given to the next one.
local part = view(y:part(0), 192)
y:close()
local z = reshard(shard(full(f32, { 8, 24 }, 7):to "cpu", "(M,K@x)", m), "(M,K)")
assert(part[5] == t[5] and z:part(0)[5] == 7)
print "done"
]])
local marks = "warm: cuEventRecord 4\nclosed: \n"
local packed = "warm: cuEventRecord 4, cuLaunchKernelEx 2\nclosed: \n"
tap.is(gpus.run("FAKE_CALLS_LOG=" .. calls, reshards), marks:rep(3) .. packed .. "done\n",
  "a warm reshard: a mark before and after it on each device, no memory, no question; and a copy")

local log = gpus.dir .. "/nccl"
local once = gpus.script [[
local m = mesh{ x = 2 }
local x = m:zeros(f32, { 8, 24 }, "(M,K,@x+)")
for _ = 1, 3 do reshard(x, "(M,K)"):close() end
]]
gpus.run("FAKE_NCCL_LOG=" .. log, once)
local lines = gpus.read(log)
tap.is(select(2, lines:gsub("ncclGroupEnd 2\n", "")), 3, "one group of two calls each")
tap.is(select(2, lines:gsub("ncclCommInitRankConfig", "")), 2, "in the same communicators")

-- clear: a fill that the device is given, without a wait of the host.
local clears = gpus.script(head .. [[
local whole, part = full(f32, { 8, 24 }, 7), full(f32, { 8, 24 }, 7)
log("cleared", function() clear(whole) end)
clear(tile(part, { 2, 24 }, { 1, 0 }))
local s = whole:to "cpu"
for i = 0, size(s) - 1 do assert(s[i] == 0) end
local t = part:to "cpu"
print(t[{ 1, 3 }], t[{ 2, 3 }], t[{ 3, 23 }], t[{ 4, 0 }])
]])
tap.is(gpus.run("FAKE_CALLS_LOG=" .. calls, clears),
  "cleared: cuMemsetD8Async 1\n7.0\t0.0\t0.0\t7.0\n", "clear enqueues a fill")

-- Kernels: copies of a reshard, and products, which are of f32 as the driver has no tensor maps.
local products = gpus.script(head .. [[
local function product(A, B) return function() matmul(A, B):close() end end
local a, b = zeros(f32, { 64, 64 }), zeros(f32, { 64, 64 })
local A, B = m:zeros(f32, { 64, 64 }, "(M@x,K)"), m:zeros(f32, { 64, 64 }, "(N,K)")
for _, f in ipairs{ product(a, b), product(A, B) } do
  for _ = 1, 3 do f() end
  log("warm", f)
end
local x = m:zeros(f32, row_major{ 1024, 1024 }, "(M@x,K)")
local function turn() reshard(x, "(M,K@x)"):close() end
for _ = 1, 40 do turn() end
synchronize()
local n_cycles = 0
setmetatable({}, { __gc = function() n_cycles = n_cycles + 1 end })
for _ = 1, 3 do turn() end
assert(n_cycles == 0, "memory of rows that are closed made work for the collector")
synchronize()
log("turned", turn)
]])
local cached = ("CUTTLE_CACHE='%s/cache' FAKE_CALLS_LOG=%s"):format(gpus.dir, calls)
local out = gpus.run(cached, products)
if out:find "nvrtc" then
  tap.skip("a warm product", "no NVRTC")
else
  tap.is(out, "warm: cuLaunchKernelEx 1\nwarm: cuLaunchKernelEx 2\n"
    .. "turned: cuEventRecord 4, cuLaunchKernelEx 2\n",
    "a warm product is a launch on each device, and so is a copy: memory is that of the one before")
end
gpus.done()
