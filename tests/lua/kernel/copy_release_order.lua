-- luacheck: no max line length
-- A plain copy that is compiled to an asynchronous one is complete before the thread tells others how far it is:
-- they may then read what was copied, or overwrite what it was copied from. What tells them nothing waits for
-- nothing.
-- needs sm_90

-- Does a wait stand between the copy and the text of the operation that follows it?
local function waits(text, op, cluster)
  local function f(x, y, n)
    local s, i, bar, flag = shared(f32, 64), threadIdx.x, mbarrier(1, 64), shared(u32, 1)
    copy(parallelize(x, layout(64), i), parallelize(s, layout(64), i))
    op(i, { bar = bar, flag = flag, s = s, x = x, y = y, n = n })
    sync_threads()
    y[i] = s[63 - i]
  end
  local k = kernel("k", f, { static_shapes = true })
  local x, y, n = arange(f32, 64), zeros(f32, 64), zeros(u32, 4)
  local launch = k { grid = 2, block = 64, cluster = cluster, cooperative = cluster == nil and true or nil }
  local source = launch:source(x, y, n):match("extern.*"):match("cp_async_4(.*)")
  local before = assert(source:match("^(.-)" .. text), text .. " is not in\n" .. source)
  return before:find "cp_async_wait_all" ~= nil
end

local releases = {
  { "__syncthreads_count", function(i, o) o.y[i] = sync_threads_count(i > 3) end },
  { "mbar_arrive%(", function(_, o) o.bar[0]:arrive() end },
  { "mbar_arrive_expect_tx", function(_, o) o.bar[0]:arrive_expect_tx(0) end },
  { "mbar_arrive_at", function(_, o) o.bar[0]:arrive(1) end, 2 },
  { "cluster_arrive", function() cluster_arrive() cluster_wait() end, 2 },
  { "named_barrier_sync", function() named_barrier(1, 64):sync() end },
  { "named_barrier_arrive", function() named_barrier(1, 64):arrive() end },
  { "grid_barrier", function() sync_grid() end },
  { "__syncwarp%(%)", function() sync_warp() end },
  { "__syncwarp%(%w", function() sync_warp { mask = 0xff } end },
  { "__threadfence%(%)", function(_, o) fence() atomic_add(o.n, 0, 1) end },
  { "fence", function(_, o) fence { order = "acq_rel" } atomic_store(o.n, 0, 1, { order = "relaxed" }) end },
  { "fence", function(_, o) fence { scope = "sys" } atomic_add(o.n, 0, 1, { scope = "sys" }) end },
  { "atomic_store", function(_, o) atomic_store(o.n, 0, 1) end },
  { "atomic_store", function(_, o) atomic_store(o.n, 0, 1, { scope = "sys" }) end },
  { "atomic_store", function(_, o) atomic_store(o.flag, 0, 1) end },
  { "atomicAdd", function(_, o) atomic_add(o.n, 0, 1, { order = "release" }) end },
  { "atomicExch", function(_, o) atomic_exch(o.flag, 0, 1, { order = "acq_rel" }) end },
  { "atomicCAS", function(_, o) atomic_cas(o.n, 0, 0, 1, { order = "release" }) end },
  { "fence%.proxy%.async%.shared", function() fence_proxy_async() end },
  { "membar", function() cuda [[ asm volatile("membar.gl;"); ]] end },
  { "red%.release", function(_, o)
    ptx("red.release.gpu.global.add.u32 [$p], 1;", {}, { p = { o.n, 0 } })
  end },
  { "atomic_store", function(i, o) if i == 3 then atomic_store(o.n, 0, 1) end end },
  { "atomic_store", function(_, o) for _ in range(3) do atomic_store(o.n, 0, 1) end end },
}
for _, case in ipairs(releases) do
  if not waits(table.unpack(case)) then print("no wait before " .. case[1]) end
end
print(#releases) -- expect: 24

local passes = {
  { "mbar_wait", function(_, o) o.bar[0]:wait(1) end },
  { "atomicAdd", function(_, o) atomic_add(o.n, 0, 1) end },
  { "atomic_load", function(_, o) o.n[2] = atomic_load(o.n, 1) end },
  { "atomic_store", function(_, o) atomic_store(o.n, 0, 1, { order = "relaxed" }) end },
  { "shfl", function(i, o) o.y[i] = shfl_xor(o.y[i], 1) end },
  { "__ballot", function(i, o) o.n[1] = ballot(i > 3) end },
  { "printf", function(i) printf("%d\n", i) end },
  { "clock", function(i, o) o.y[i] = cast(clock(), f32) end },
  { "y%[", function(i, o) o.y[i] = o.x[i] end },
  { "grid_dependency_wait", function() grid_dependency_wait() end },
  { "cluster_wait", function() cluster_wait() end, 2 },
}
for _, case in ipairs(passes) do
  if waits(table.unpack(case)) then print("a wait before " .. case[1]) end
end
print(#passes) -- expect: 11
