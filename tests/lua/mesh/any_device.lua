-- Sharded tensors and ranks on whatever devices there are: all CUDA devices, or six of the CPU engine.
if device().name == "CPU engine" then device "cpu:6" end
local n = device().n_devices
local m = mesh{ d = n }

local function same(a, b) return reference.difference(a:to "cpu", b:to "cpu") == nil end

-- Any sharding to any other, also where only the order in memory changes.
local specs <const> = { "(M,K)", "(M@d,K)", "(M,K@d)", "(M=24,K=36):(36,1)",
  "(M=(4,6),K=36):((1,144),4)" }
local function check(t)
  for _, from in ipairs{ "(M,K)", "(M@d,K)", "(M,K@d)", "(M,K,@d+)", "(M=24,K=36):(36,1)" } do
    local x <close> = shard(t, from, m)
    assert(same(x:whole(), t), from)
    for _, to in ipairs(specs) do
      local y <close> = reshard(x, to)
      assert(same(y:whole(), t), from .. " to " .. to)
      local want <close> = shard(t, to, m)
      m:run(function(r) assert(same(y:part(), want:part()), from .. " to " .. to) end)
    end
  end
end
for _, dtype in ipairs{ f32, f64, f16, bf16, i32, u8 } do
  check(reference.cast(rand(i32, { 24, 36 }, 0, 5):to "cpu", dtype))
end
print "shardings" -- expect: shardings

-- A tensor on the device, with gaps; uneven parts.
local gaps = tensor(i32, "(7,5):(2,16)")
for i = 0, 34 do gaps[i] = i end
local whole = shard(gaps, "(M@d,K)", m):whole()
for i = 0, 34 do assert(whole[i] == i) end

-- New tensors of a rank lie on its device.
local results = m:run(function(r)
  local t, all = full(i32, 3, r.rank + 1), zeros(i32, { 3, n })
  r:all_gather(t, all, "d")
  r:all_reduce(t)
  local root = full(i32, 1, r.rank)
  r:broadcast(root, "d", n - 1)
  local ring = zeros(i32, 1)
  if n > 1 then
    r:send_recv(full(i32, 1, r.rank), (r.rank + 1) % n, ring, (r.rank + n - 1) % n)
  end
  local part, exchanged = zeros(i32, 2), zeros(i32, { 2, n })
  r:reduce_scatter(arange(i32, { 2, n }), part)
  r:all_to_all(full(i32, { 2, n }, r.rank), exchanged)
  r:barrier()
  assert(all[{ 2, n - 1 }] == n and root[0] == n - 1 and ring[0] == (r.rank + n - 1) % n)
  assert(part[1] == n * (2 * r.rank + 1) and exchanged[{ 1, n - 1 }] == n - 1)
  return t[0]
end)
print(results[0] == n * (n + 1) // 2, results[n - 1] == results[0]) -- expect: true	true

-- Kernels and collectives of a rank follow one another.
local double = kernel("double", function(t)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(t) then t[i] = 2 * t[i] end
end)
local x = m:zeros(i32, { 1000 }, "(M,@d+)")
m:run(function(r)
  local part = x:part()
  fill(part, 1)
  for _ = 1, 3 do
    double{ grid = 8, block = 128 }(part)
    r:all_reduce(part, "d", "max")
  end
end)
print(x:whole()[999] == 8 * n, x:whole()[0] == 8 * n) -- expect: true	true
