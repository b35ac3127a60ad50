-- mutate_sync_known.lua: the mutants of mutate_sync.lua that `check` does not find, and why. A key
-- is "subject: what #n", the n-th of these in the subject, in the order of the program.
--   needless  something else orders the same, or nothing needs it
--   elsewhere this program or size does not need it; named is one that does, where it is found
--   turns     it says who goes first, and any order is right
--   blind     it is needed, and `check` cannot see that
--   ordered   it is found in another order, which the program then tries
local M = {}

local function add(subject, what, why, text)
  M[("%s: %s"):format(subject, what)] = { why = why, text = text }
end

-- {====== Examples ======

-- A reader that finds all counted and a token's flag unset gives the token up. Both are atomic, and
-- atomic operations run one after the other here.
local counted <const> = "the reader of the counter looks at a flag next, and takes an old value"
add("expert_dispatch", "sync_threads() #4", "blind", counted)
add("expert_dispatch", "the release of an atomic operation #2", "blind", counted)
add("expert_dispatch", "the acquire of an atomic operation #1", "blind", counted)

for _, what in ipairs { "tma_store_wait() #1", "sync() of a named barrier #1" } do
  add("hopper_gemm", what, "elsewhere", "hopper_gemm, one block: a block's second tile needs it")
end

for _, what in ipairs { "the wait for an mbarrier 'free' #1",
  "the arrival at an mbarrier 'free' #1", "tcgen05_after_thread_sync() #1",
  "tcgen05_before_thread_sync() #1" } do
  add("blackwell_gemm", what, "elsewhere",
    "blackwell_gemm, one block: a block's third tile needs it")
end

add("matmul tcgen05, scales", "tcgen05_after_thread_sync() #2", "needless",
  "the one before the copy of scales comes after the same wait")

for _, what in ipairs { "sync_threads() #3", "sync_threads() #4" } do
  add("notebook_shared_matmul", what, "blind", "what is printed in its order is not compared")
end

for _, what in ipairs { "the acquire of an atomic operation #1",
  "the release of an atomic operation #1", "the release of an atomic operation #2" } do
  add("prefix_sum", what, "needless", "the word holds all that is told")
end

local message <const> = "one thread tells another: no two stores are looked at crosswise"
add("reduce", 'the order "seq_cst" of a fence #1', "needless", message)
add("reduce", 'the order "seq_cst" of a fence #2', "needless", message)
add("stream_k", 'the order "seq_cst" of a fence #1', "needless", message)
local one_group <const> = "there is one warp group, and wgmma_wait by one of its warps says that "
  .. "all have read"
add("wgmma_tma_sm90", "the wait for an mbarrier 'empty' #1", "needless", one_group)
for _, name in ipairs { "hopper_steps", "hopper_steps, one block" } do
  add(name, "sync_threads() #2", "needless", one_group)
end
for _, what in ipairs { "tma_store_wait() #1", "sync() of a named barrier #1",
  "the arrival at an mbarrier 'empty' #3" } do
  add("hopper_steps", what, "elsewhere", "hopper_steps, one block: a second tile needs it")
end
add("stream_k", "fence() #1", "needless", "the barrier and the release of the store behind it do")

local own <const> = "two_shot_all_reduce, read between calls: a rank uses its own chunk only"
for _, what in ipairs { "sync_threads() #1", "sync_threads() #2",
  "the release of an atomic operation #1", "the acquire of an atomic operation #1" } do
  add("two_shot_all_reduce", what, "elsewhere", own)
end

-- {====== Products ======

local function add_all(subject, whats, why, text)
  for _, what in ipairs(whats) do add(subject, what, why, text) end
end

add_all("matmul simt, both turned", { "cp_async_commit() #1", "cp_async_commit() #2",
  "cp_async_commit() #3", "cp_async_wait() #1", "cp_async_wait() #2" }, "elsewhere",
  "matmul simt, one turned: what goes through registers is no copy by cp.async")
local all_copies <const> = "cp_async_wait(0) waits for copies of no group, too"
add("matmul mma, bf16 out", "cp_async_commit() #5", "needless", all_copies)
add("matmul groups", "cp_async_commit() #5", "needless", all_copies)

local own_elements <const> = "matmul hopper cooperative, beta in bf16: in f32 a thread writes "
  .. "what it has read itself"
add_all("matmul hopper cooperative", { "sync() of a named barrier #1",
  "sync() of a named barrier #3" }, "elsewhere", own_elements)
add_all("matmul hopper cooperative, four passes", { "sync() of a named barrier #1",
  "sync() of a named barrier #3", "sync() of a named barrier #5", "sync() of a named barrier #7" },
  "elsewhere", own_elements)
add("matmul hopper cooperative", "tma_store_commit() #1", "elsewhere",
  "matmul hopper cooperative, four passes: with two, nobody counts it")
for _, name in ipairs { "matmul hopper cooperative", "matmul hopper cooperative, four passes",
  "matmul nested, hopper" } do
  add(name, "tma_store_wait() #2", "needless", "nothing was stored since the wait before it")
end
add("matmul nested, hopper", "tma_store_wait() #1", "elsewhere",
  "matmul hopper cooperative: a block's second tile needs it")
add("matmul hopper ping-pong", "sync() of a named barrier #1", "turns", "of two groups")
add("matmul groups, hopper", "sync() of a named barrier #1", "turns", "of two groups")
add("matmul groups, hopper", "sync() of a named barrier #6", "needless",
  "the barrier of the turns comes before the next load, too; without turns it is found")
add("matmul groups, hopper", "tma_store_commit() #2", "needless",
  "an empty group, where waits are for all; with two passes it is found")
add("matmul groups, hopper", "fence_proxy_async() #2", "needless",
  "since the fence before it threads only read there")
add_all("experts, kept gates", { "cp_async_wait() #1", "cp_async_wait() #2" }, "needless",
  "what goes through registers is no copy by cp.async")
add("matmul hopper, scales of columns", "wgmma_fence() #2", "needless",
  "no register of the product was touched since the fence before it")
add("matmul hopper, pdl", "grid_dependency_wait() #2", "needless",
  "what comes behind it waits for boxes that are loaded behind the first one")
for _, name in ipairs { "matmul packed, hopper", "matmul packed, hopper, rows of 8 bits" } do
  add(name, "grid_dependency_wait() #1", "elsewhere",
    "matmul hopper, pdl: no launch before this one writes what it reads")
  add_all(name, { "tma_store_wait() #1", "sync() of a named barrier #1" }, "elsewhere",
    "matmul hopper cooperative: a block's second tile needs it")
end
add("matmul packed, hopper", "the arrival at an mbarrier 'empty' #5", "elsewhere",
  "matmul hopper cooperative: a block's second tile needs it")

-- {====== Rows ======

add("rows, gradients", "grid_dependency_wait() #1", "elsewhere",
  "matmul hopper, pdl: no launch before this one writes what it reads")

-- {====== Attention ======

-- In the order of the kernel: _2 is Q_empty, _3 K_full, _4 K_empty, _5 V_full.
local other_sizes <const> = "attention hopper, causal: where a tile ends decides"
local none_read <const> = "a group that reads nothing, and goes on when its turn comes"
local same_registers <const> = "no register of the product was touched since the fence before it"
local function passes(subject, n, sync)
  for _, i in ipairs(n) do
    add(subject, ("the wait for an mbarrier 'shared_3' #%d"):format(i), "needless", none_read)
    add(subject, ("the wait for an mbarrier 'shared_5' #%d"):format(i), "needless", none_read)
  end
  for _, i in ipairs(sync) do
    add(subject, ("sync() of a named barrier #%d"):format(i), "ordered", "")
  end
end
passes("attention hopper", { 3 }, { 8 })
passes("attention hopper, d64", { 3 }, { 6 })
passes("attention hopper, f8", { 3 }, { 6 })
passes("attention hopper, packed", { 4 }, { 7 })
passes("attention hopper, pages", { 4 }, { 7 })
passes("attention hopper, causal", { 1, 5 }, { 11 })
add("attention hopper, causal", "sync() of a named barrier #2", "needless",
  "the slot comes round only behind the next block's barrier, at which the group meets")
for _, name in ipairs { "", ", d64", ", d192", ", 128 rows", ", packed", ", causal" } do
  name = "attention hopper" .. name
  add(name, "wgmma_fence() #3", "needless", same_registers)
  add(name, "wgmma_fence() #5", "needless", same_registers)
  add(name, "the wait for an mbarrier 'shared_4' #1", "elsewhere", other_sizes)
end
add("attention hopper, f8", "wgmma_fence() #3", "needless", same_registers)
add_all("attention hopper, pages", { "wgmma_fence() #3", "wgmma_fence() #5" }, "needless",
  same_registers)
add("attention hopper, f8", "the wait for an mbarrier 'shared_9' #1", "needless",
  "a slot of keys that is free says that the values of the block before were transposed")
for _, name in ipairs { "attention hopper", "attention hopper, d64", "attention hopper, f8" } do
  add(name, "the wait for an mbarrier 'shared_2' #3", "elsewhere",
    "attention hopper, causal: the third group has no rows")
end
add("attention hopper, causal", "the arrival at an mbarrier 'shared_2' #2", "elsewhere",
  "attention hopper: it is the block's last tile")
for _, name in ipairs { "128 rows", "d192" } do
  add("attention hopper, " .. name, "sync() of a named barrier #2", "turns", "of two groups")
end

for _, name in ipairs { "attention_decode mma", "attention_decode 8 bits" } do
  add(name, "sync_warp() #2", "elsewhere", "attention_decode deep: rings have what warps find")
end

for _, name in ipairs { "attention_decode latent, pairs", "attention_decode latent hopper" } do
  for first = 1, 16, 5 do
    for i = first + 1, first + 4 do
      add(name, "wgmma_fence() #" .. i, "needless", same_registers)
    end
  end
  for _, i in ipairs { 1, 3, 6, 9 } do
    add(name, "sync_warp() #" .. i, "needless", "wgmma_wait() is the whole warp's")
  end
  for _, i in ipairs { 1, 2, 3 } do
    add(name, ("the wait for an mbarrier 'shared_7' #%d"):format(i), "needless",
      "a block's first tiles go to slots that are empty")
  end
end
for _, name in ipairs { "attention_decode latent, pairs", "attention_decode latent hopper" } do
  add_all(name, { "fence_proxy_async() #3", "fence_proxy_async() #5" }, "elsewhere",
    "320 keys, whose last tile is whole: groups with sums have a fence for a tile that is cut")
end
add_all("attention_decode latent hopper", { "the wait for an mbarrier 'shared_7' #5",
  "the wait for an mbarrier 'shared_7' #6", "the wait for an mbarrier 'shared_7' #7" }, "needless",
  "all groups of the block met where the piece before ended; in pairs it is found")
add("attention_decode latent, pairs", "the wait for an mbarrier 'shared_7' #7", "elsewhere",
  "the same waits for the first two slots")

local after_waits <const> = { ["8 bits"] = { 1, 3, 5, 11, 12 },
  rows = { 1, 3, 6, 13, 14 } }
for name, numbers in pairs(after_waits) do
  local subject = "attention_decode latent hopper, " .. name
  for first = 1, 11, 5 do
    for i = first + 1, first + 4 do
      add(subject, "wgmma_fence() #" .. i, "needless", same_registers)
    end
  end
  for _, i in ipairs(numbers) do
    add(subject, "sync_warp() #" .. i, "needless", "wgmma_wait() is the whole warp's")
  end
end
local full_again <const> = "a slot that is full again says that sums of the tile before are done"
add_all("attention_decode latent hopper, 8 bits", { "the wait for an mbarrier 'shared_10' #1",
  "the wait for an mbarrier 'shared_10' #2" }, "needless", full_again)
add_all("attention_decode latent hopper, rows", { "the wait for an mbarrier 'shared_7' #1",
  "the wait for an mbarrier 'shared_7' #3" }, "needless", full_again)
for i = 7, 10 do
  add("attention_decode latent hopper, rows", "fence_proxy_async() #" .. i, "blind",
    "where one lane arrives for its warp, a fence that the warp has later counts, too")
end
add("attention_decode latent hopper, 8 bits", "fence_proxy_async() #4", "elsewhere",
  "attention_decode latent hopper, rows: groups with sums have a fence for a tile that is cut")

add("attention_backward mma", "sync_threads() #4", "needless",
  "a block of queries has one head, before which nothing was read")
local released <const> = "dO's slot is filled behind a wait for Q's, which is released last"
for _, name in ipairs { "attention_backward hopper", "attention_backward hopper, causal",
  "attention_backward hopper, deterministic" } do
  for _, i in ipairs { 2, 4, 5, 6, 7, 9, 10 } do
    add(name, ("wgmma_fence() #%d"):format(i), "needless", same_registers)
  end
  add_all(name, { "the wait for an mbarrier 'shared_8' #1", "wgmma_commit() #3", "wgmma_wait() #3",
    "wgmma_commit() #8", "wgmma_wait() #8" }, "needless", released)
  add(name, "sync_warp() #1", "needless", "an arrival at a named barrier is the whole warp's")
end
add("attention_backward hopper, deterministic", "fence_proxy_async() #1", "needless",
  "a fence before the turn is handed on orders what two blocks add, too; without both it is found")
add("attention_backward hopper, deterministic", "fence_proxy_async() #2", "needless",
  "tma_store_wait(0, {done = true}) makes what was stored visible")
local in_pairs <const> = "attention_backward hopper, pairs"
for _, i in ipairs { 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17 } do
  add(in_pairs, ("wgmma_fence() #%d"):format(i), "needless", same_registers)
end
add_all(in_pairs, { "wgmma_wait() #1", "wgmma_wait() #2", "wgmma_wait() #8" }, "needless",
  "the step before, or the one before the loop, has waited for the scores")
local d192 <const> = "attention_backward hopper, d192"
for _, i in ipairs { 2, 4, 5, 6, 8, 9, 10, 11, 12, 14, 15, 16, 18 } do
  add(d192, ("wgmma_fence() #%d"):format(i), "needless", same_registers)
end
add(d192, "the wait for an mbarrier 'shared_11' #1", "needless", released)
add_all(d192, { "wgmma_wait() #8", "wgmma_wait() #13" }, "needless",
  "the one before it has waited for the same")
add_all(d192, { "wgmma_commit() #7", "wgmma_commit() #13" }, "needless",
  "what waits for them waits for the next ones, too")
for name, numbers in pairs { [in_pairs] = { 3, 11 }, [d192] = { 8, 14, 17 } } do
  for _, i in ipairs(numbers) do
    add(name, ("wgmma_commit() #%d"):format(i), "needless", "the next commit is of the same sums")
  end
  add(name, "the barrier of the cluster #4", "needless",
    "each block waits for all that the other one sends")
  add(name, "sync_warp() #1", "needless", "an arrival at a named barrier is the whole warp's")
end

-- {====== Many devices ======

add_all("matmul_scatter", { "fence_proxy_async() #1", "fence_proxy_async() #3" }, "needless",
  "tma_store_wait(0, {done = true}) makes what was stored visible")
add_all("matmul_scatter", { "sync_warp() #1", "sync_warp() #4" }, "needless",
  "the wait for the flag behind it ends with another one")
add_all("matmul_scatter", { "tma_store_wait() #2", "tma_store_wait() #4" }, "needless",
  "another one, before it, has waited for all")

return M
