-- What tensor memory and tcgen05 are emitted as: the example compiles for each target that has them, and other
-- targets are refused by name before NVRTC sees a text.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local compiled = dofile "tests/support/compiled.lua"
local EXAMPLE <const> = "examples/blackwell_gemm.lua"

local function emit(options, path) return (shell.cuttle("emit %s %s", options, path)) end

local text = compiled("100a", "a tile", EXAMPLE .. " 128 256 64")
for _, part in ipairs { "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", "tcgen05.dealloc.cta_group::1",
    "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;", "tcgen05.wait::ld.sync.aligned",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
    "tcgen05.ld.sync.aligned.32x32b.x32.b32", "tcgen05.fence::before_thread_sync",
    "tcgen05.fence::after_thread_sync" } do
  tap.ok(text:find(part, 1, true), part, text)
end
tap.ok(not text:find("__shfl_sync", 1, true), "the address of a warp's rows takes no shuffle", text)
local pairs_of_blocks = compiled("100a", "pairs",
  "examples/blackwell_steps.lua 256 128 64")
for _, part in ipairs { "tcgen05.alloc.cta_group::2.sync", "tcgen05.dealloc.cta_group::2.sync",
    "tcgen05.relinquish_alloc_permit.cta_group::2.sync", "tcgen05.mma.cta_group::2.kind::f16",
    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
    "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster", "& 0xfeffffffu" } do
  tap.ok(pairs_of_blocks:find(part, 1, true), "pairs: " .. part, pairs_of_blocks)
end
-- Pairs with A or scales in tensor memory.
for script, parts in pairs {
  ["tests/lua/blackwell/pairs.lua"] = {
    "tcgen05.mma.cta_group::2.kind::f16 [%0], [%1], %2, %3, p;" },
  ["tests/lua/blackwell/scaled_pairs.lua"] = { "tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;",
    "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.block32 [%0], %1, %2, %3, [%4], [%5], p;",
    "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16" },
} do
  local emitted = emit("--sm=100a", script)
  for _, part in ipairs(parts) do
    tap.ok(emitted:find(part, 1, true), script .. ": " .. part, emitted)
  end
end
for _, sm in ipairs { "100f", "103a", "110a" } do
  for _, script in ipairs { EXAMPLE .. " 128 256 64", "examples/blackwell_steps.lua 256 128 64" } do
    local emitted = compiled(sm, script, script)
    tap.ok(emitted:find "\n}" and not emitted:find "error", script .. " compiles for " .. sm,
      emitted)
  end
end
tap.ok(emit("--sm=90a", EXAMPLE):find("tmem: it needs sm_100a, sm_100f, sm_103a or sm_110a, but "
  .. "the kernel is compiled for sm_90", 1, true), "sm_90a has no tensor memory")
local path <const> = shell.file [[
kernel("small", function() tmem_dealloc(tmem(f32, {128, 32})) end){grid = 1, block = 32}()
]]
local ints <const> = os.tmpname()
do
  local out <close> = assert(io.open(ints, "w"))
  out:write [[
local mma = tiled_mma"SM100_MMA_S8_SS<i8,i8,i32,128,16>"
kernel("ints", function()
  local acc, thr = tmem(i32, {128, 16}), mma:get_slice(0)
  local s = shared(i8, tile_to_shape(gmma_layout(i8, "K", 32), {128, 32}))
  fill(s, 0)
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    gemm(mma, thr:partition_A(s), thr:partition_B(tile(s, {16, 32}, {0, 0})),
      thr:partition_C(acc), {accumulate = false})
  end
  sync_threads()
  tmem_dealloc(acc)
end){grid = 1, block = 32}()
]]
end
local mul <const> = "needs sm_100a or sm_110a, as it multiplies integers; the target is sm_"
local integers <const> = { ["100a"] = true, ["110a"] = true, ["100f"] = false, ["103a"] = false }
for sm, is_there in pairs(integers) do
  local said = compiled(sm, "integers", ints)
  tap.ok(is_there and said:find "kind::i8" or said:find(mul .. sm:gsub("a$", ""), 1, true),
    "integers on " .. sm, said)
end
os.remove(ints)
tap.ok(emit("--sm=120a", path):find("but the kernel is compiled for sm_120", 1, true),
  "nor has sm_120a")
os.remove(path)
tap.done()
