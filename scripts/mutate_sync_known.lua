-- mutate_sync_known.lua: the mutants of mutate_sync.lua that `check` does not find, and why. A key
-- is "subject: what #n", the n-th of these in the subject, in the order of the program.
--   needless  something else orders the same, or nothing needs it
--   elsewhere this program or size does not need it; named is one that does, where it is found
--   turns     it says who goes first, and any order is right
--   blind     it is needed, and `check` cannot see that
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
add("stream_k", "fence() #1", "needless", "the barrier and the release of the store behind it do")

local own <const> = "two_shot_all_reduce, read between calls: a rank uses its own chunk only"
for _, what in ipairs { "sync_threads() #1", "sync_threads() #2",
  "the release of an atomic operation #1", "the acquire of an atomic operation #1" } do
  add("two_shot_all_reduce", what, "elsewhere", own)
end

return M
