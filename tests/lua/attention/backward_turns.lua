-- attention_backward with `deterministic`: the same gradients; one result in all orders of blocks;
-- and what `check` says to a turn that nobody takes, to a part that is handed over without its
-- fence, and to additions that wait for no turn.
local tap = dofile "tests/support/tap.lua"

-- Tiles of 128 queries by 128 keys; `change` is made before.
local PROGRAM <const> = [[
local backward = require "cuttle.attention_backward"
local turns = require "cuttle.attention_backward_turns"
$change
local function try(n, nk, causal, deterministic)
  manual_seed(1)
  local Q, dO = randn(bf16, row_major{1, n, 64}), randn(bf16, row_major{1, n, 64})
  local K, V = randn(bf16, row_major{1, nk, 64}), randn(bf16, row_major{1, nk, 64})
  local O, LSE = attention(Q, K, V, {causal = causal, lse = true})
  local got = {attention_backward(dO, Q, K, V, O, LSE,
    {causal = causal, deterministic = deterministic, config = "hopper 128x128"})}
  local want = {attention_backward(dO, Q, K, V, O, LSE, {causal = causal, config = "plain"})}
  for i, t in ipairs(got) do
    if not allclose(t, want[i], {atol = 0.05, rtol = 0.05}) then print("gradient " .. i) end
  end
end
try($problem)
]]

local says = dofile "tests/support/checked_gradients.lua" (tap, PROGRAM)

says("", "200, 300, true, true", nil, "check: no finding", "causal, some queries see no key")
says("", "130, 300, false, true", nil, "check: no finding", "full")
says("--schedules=3", "40, 256, false, true", nil, "check: no finding", "one result in all orders")
says("", "256, 256, true, true", [[
local turn_of = turns.turn_of
function turns.turn_of(variant, args, m)
  local all = setmetatable({ causal = false }, { __index = variant })
  return turn_of(all, args, m)
end]], "deadlock", "a turn for a block that does not see the tile")
says("", "40, 128, false, true", [[
function turns.hand_over(_, barriers, store)
  barriers.empty:sync()
  store()
  barriers.full:arrive()
end]], "fence_proxy_async", "a part without its fence")
says("--schedules=8", "40, 384, false, true", "function turns.await() end",
  "in an order that nothing fixes", "additions that do not wait")
tap.done()
