-- What boxes are emitted as: it compiles for sm_90a; older devices are refused.
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
local function write(text) shell.write_file(path, text) end
local function run(options) return (shell.cuttle("emit %s %s", options, path)) end

write [[
local sw128 = composition(swizzle(3, 3, 3), row_major{8, 64})
local everything = kernel("everything", function(A, C, x, mask)
  local s = shared(A.dtype, tile_to_shape(sw128, {64, 128, 4}))
  local u = shared(x.dtype, layout{8, 2, 2, 2, 2})
  local full = mbarrier(4, 1)
  local gA, gC = tile(tma_tensor(A), {64, 128}, {_, _}), tile(tma_tensor(C), {64, 128}, {_, _})
  sync_threads()
  if threadIdx.x == 0 then
    for k in axes(gA, 3) do
      full[k % 4]:arrive_expect_tx(size(s) // 2)
      tma_load(gA(_, _, 0, k), s(_, _, k % 4), full[k % 4])
      full[k % 4]:wait(k // 4 % 2)
      fence_proxy_async()
      tma_store(s(_, _, k % 4), gC(_, _, 0, k))
      tma_store(s(_, _, k % 4), gC(_, _, 0, k), {reduce = "add"})
      tma_store_commit()
      tma_store_wait(2)
    end
    full[0]:expect_tx(size(u) * 4)
    tma_load(tile(tma_tensor(x), {8, 2, 2, 2, 2}, {0, 0, 0, 0, 0}), u, full[0], {multicast = 1})
    tma_store_wait(0, {done = true})
  end
end)
local A, C = ones(bf16, row_major{64, 256}), zeros(bf16, row_major{64, 256})
local x = ones(i32, layout{8, 2, 2, 2, 2})
everything{grid = 1, block = 32}(A, C, x, 1)
assert(C[{63, 255}] == 2)
]]
local out = run "--sm=90a --compile"
local function lacks(text) return not out:gsub("%s+", " "):find(text, 1, true) end
for _, text in ipairs {
  "everything(int A_shape1, const __grid_constant__ TensorMap A_map, " ..
    "const __grid_constant__ TensorMap C_map,",
  "unsigned char* const smem = smem_begin + " ..
    "(-(unsigned)__cvta_generic_to_shared(smem_begin) & 1023);",
  "tma_load_3d(A_map, 0, 0, k * 2, &full[k % 4], s + ",
  "tma_store_3d(C_map, 0, 0, k * 2, s + ", "tma_reduce_add_3d(C_map, 0, 0, k * 2, s + ",
  "tma_load_multicast_5d(x_map, 0, 0, 0, 0, 0, &full[0], u, 1);",
  "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 2;",
  "fence.proxy.async.shared::cta;" } do
  if lacks(text) then print("lacks", text, out) break end
end
print(out:match "everything:.*" or "compiled") -- expect: compiled

-- Hints for caches: those that L2 has a policy for.
write [[
kernel("hinted", function(A, C)
  local s, full = shared(A.dtype, row_major{16, 64}), mbarrier(1, 1)
  local first = tile(tma_tensor(cache_hint(A, "evict_first")), {16, 64}, {0, 0})
  local last = tile(tma_tensor(cache_hint(C, "evict_last")), {16, 64}, {0, 0})
  local plain = tile(tma_tensor(cache_hint(A, "streaming")), {16, 64}, {0, 0})
  sync_threads()
  if threadIdx.x == 0 then
    full:arrive_expect_tx(3 * size(s) * 2)
    tma_load(first, s, full)
    tma_load(plain, s, full)
    tma_load(first, s, full, {multicast = 1})
    full:wait(0)
    fence_proxy_async()
    tma_store(s, last)
    tma_store(s, last, {reduce = "add"})
    tma_store_commit()
    tma_store_wait(0)
  end
end){grid = 1, block = 32}(ones(bf16, row_major{16, 64}), zeros(bf16, row_major{16, 64}))
]]
out = run "--sm=90a --compile"
for _, text in ipairs {
  "tma_load_hint_2d(A_map, 0, 0, &full[0], s, policy_evict_first());",
  "tma_load_2d(A_map, 0, 0, &full[0], s);",
  "tma_load_multicast_hint_2d(A_map, 0, 0, &full[0], s, 1, policy_evict_first());",
  "tma_store_hint_2d(C_map, 0, 0, s, policy_evict_last());",
  "tma_reduce_add_hint_2d(C_map, 0, 0, s, policy_evict_last());" } do
  if lacks(text) then print("lacks", text, out) break end
end
print(out:match "hinted:.*" or "compiled") -- expect: compiled
write "kernel('k', function(x) x[0] = 1; tma_store_wait() end){grid = 1, block = 1}(zeros(f32, 1))"
print((run("--sm=80"):match ": (.-)\n"))
-- expect: tma_store_wait: it needs sm_90, but the kernel is compiled for sm_80; the CPU engine runs it
os.remove(path)
