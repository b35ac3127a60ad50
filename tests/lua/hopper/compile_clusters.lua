-- What clusters and dependent launches are emitted as: it compiles for sm_90a; older devices are refused.
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
local function run(text, options)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return (shell.cuttle("emit %s %s", options, path))
end

local text = run([[
kernel("everything", function(x, out)
  local s, full, counts = shared(f32, {64, 4}), mbarrier(2, 1), shared(i32, 1)
  local t, rank = threadIdx.x, cluster_rank()
  local mine = fragment(f32, 4)
  cluster_arrive()
  cluster_wait()
  grid_dependency_wait()
  for m, n in raster{tiles = {8, 8}, group = 4} do
    for i = 0, 3 do mine[i] = x[{m * 8 + n, i}] end
    copy(mine, map_shared_rank(s, (rank + 1) % cluster_size())(t, _))
    atomic_add(map_shared_rank(counts, t % 2), 0, 1)
    if t == 0 then full[1]:arrive(1 - rank) end
  end
  sync_cluster()
  grid_dependency_launch()
  out[t] = s[{t, 0}]
end){grid = 4, block = 64, cluster = 2, pdl = true}(zeros(f32, {64, 4}), zeros(f32, 64))
]], "--sm=90a --compile")
print(text:match "__cluster_dims__%b()", text:match "error[^\n]*") -- expect: __cluster_dims__(2, 1, 1)	nil
for _, name in ipairs{"cluster_arrive", "cluster_wait", "grid_dependency_wait",
                      "grid_dependency_launch"} do
  if not text:find("\n +" .. name .. "%(%);") then print("no call of " .. name) end
end
print(text:match "= (cluster_map%b());")   -- expect: cluster_map(s, (rank + 1) % 2)

local stored = run([[
kernel("stored", function(x, y)
  local s, d, full = shared(f32, 4), shared(i64, 4), mbarrier(2, 1)
  local i, f = shared(i32, 1), shared(f64, 1)
  local t = threadIdx.x
  sync_cluster()
  st_async(s, t % 4, x[t], full[0], 1 - cluster_rank())
  st_async(d, 0, t, full[t % 2], 0)
  st_async(i, 0, cast(t, i32), full[0], 0)
  st_async(f, 0, cast(t, f64), full[0], 0)
  full[0]:wait(0)
  y[t] = s[0] + d[0]
end){grid = 2, block = 32, cluster = 2}(zeros(f32, 32), zeros(f32, 32))
]], "--sm=90a --compile")
print(stored:match "error[^\n]*" or stored:match "nvrtc[^\n]*")        -- expect: nil
print(stored:match "cluster_map")         -- expect: nil
for call in stored:gmatch "\n +(st_async%b());" do print((call:gsub("%s+", " "))) end
-- expect: st_async(&s[t % 4], &full[0], 1 - bid_x % 2, (unsigned)__float_as_uint(x[t]))
-- expect: st_async(&d[0], &full[t % 2], 0, (unsigned long long)((long long)t))
-- expect: st_async(&i[0], &full[0], 0, (unsigned)(t))
-- expect: st_async(&f[0], &full[0], 0, (unsigned long long)__double_as_longlong((double)t))

local sent = run([[
kernel("sent", function(y)
  local own, got, full = shared(bf16, {64, 4}), shared(bf16, {64, 4}), mbarrier(2, 1)
  local t = threadIdx.x
  if t == 0 then full[1]:arrive_expect_tx(got(_, 0)) end
  own[t] = cast(t, bf16)
  fence_proxy_async()
  sync_cluster()
  if t == 0 then tma_store(own(_, 0), got(_, y[0] // 8), full[1], 1 - cluster_rank()) end
  full[1]:wait(0)
  y[t] = cast(got[t], i32)
end){grid = 2, block = 32, cluster = 2}(zeros(i32, 32))
]], "--sm=90a --compile")
print(sent:match "error[^\n]*" or sent:match "nvrtc[^\n]*") -- expect: nil
print(sent:match "\n +(tma_store_shared%b());")
-- expect: tma_store_shared(own, got + (y[0] >> 3) * 64, &full[1], 1 - bid_x % 2, 128)

local refused = "kernel('k', function(x) local s = shared(i32, 1) %s x[0] = 1 end)" ..
  "{grid = 2, block = 32%s}(zeros(i32, 1))"
for _, case in ipairs{
  {"", ", cluster = 2"}, -- expect: k: clusters of blocks need compute capability 9.0, but the target has 8.0; launch without cluster, or on the CPU engine
  {"cluster_wait()", ""}, -- expect: cluster_wait: it needs compute capability 9.0, but the target has 8.0; write sync_cluster, or run it on the CPU engine
  {"s[0] = map_shared_rank(s, 0)[0]", ""}, -- expect: map_shared_rank: other blocks' shared memory needs compute capability 9.0, but the target has 8.0; run it on the CPU engine
} do
  print((run(refused:format(case[1], case[2]), "--sm=80"):match ": (.-)\n"))
end
local older = run(refused:format("grid_dependency_wait()", ", pdl = true"), "--sm=80")
print(older:match "grid_dependency")     -- expect: nil
os.remove(path)
