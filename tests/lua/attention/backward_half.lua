-- attention_backward of tiles of queries whose first half sees none of a group's keys: which they
-- are, and gradients beside the plain kernels' where sequences begin at different places of a tile.
-- check finds nothing.
local gradients = dofile "tests/support/gradients.lua"
local half_of = require "cuttle.attention_backward_half"

-- Of tiles of 128 queries and groups of 64 keys, by counting.
local variant <const> = { rows = 128, by_rows = true, causal = true }
local function sees_none(args, first_key, m)
  for q = 128 * m, 128 * m + 63 do
    if q + args.n_k - args.n_q >= first_key then return false end
  end
  return true
end
for n_k = 1, 400, 21 do
  for _, n_q in ipairs { n_k, n_k + 1, n_k + 63, n_k + 64, n_k + 65, n_k + 300 } do
    local args = { n_q = n_q, n_k = n_k }
    for first_key = 0, n_k - 1, 64 do
      local first = max(first_key // 128 * 128 - (n_k - n_q), 0) // 128
      assert(half_of.begins(variant, args, first_key, first) == sees_none(args, first_key, first))
    end
  end
end
assert(half_of.is_for(variant) and not half_of.is_for { rows = 128, by_rows = true })

manual_seed(3)
for _, lengths in ipairs { { 260, 260 }, { 200, 263 }, { 263, 200 }, { 129, 65 } } do
  local S, SK = table.unpack(lengths)
  local Q, dO = randn(bf16, row_major{1, 1, S, 16}), randn(bf16, row_major{1, 1, S, 16})
  local K, V = randn(bf16, row_major{1, 1, SK, 16}), randn(bf16, row_major{1, 1, SK, 16})
  local O, LSE = attention(Q, K, V, {causal = true, lse = true})
  local want = { attention_backward(dO, Q, K, V, O, LSE, {causal = true, config = "plain"}) }
  for i, t in ipairs(gradients.checked(dO, Q, K, V, O, LSE,
    {causal = true, config = "hopper 128x128"})) do
    print(S, SK, i, allclose(t, want[i], {atol = 2e-2}))
  end
end
-- expect: 260	260	1	true
-- expect: 260	260	2	true
-- expect: 260	260	3	true
-- expect: 200	263	1	true
-- expect: 200	263	2	true
-- expect: 200	263	3	true
-- expect: 263	200	1	true
-- expect: 263	200	2	true
-- expect: 263	200	3	true
-- expect: 129	65	1	true
-- expect: 129	65	2	true
-- expect: 129	65	3	true
