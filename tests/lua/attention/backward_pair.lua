-- attention_backward for D = 256 on Hopper, where two blocks share dQ: the same gradients as of the
-- plain kernels, and what `check` says to a group that does not wait before it writes, and to one
-- that does not wait for dS' of the other block. An argument: the latter two alone.
local tap = dofile "tests/support/tap.lua"

-- `change` is made before. Then only what `check` says counts, and no gradients are compared.
local PROGRAM <const> = [[
local pair = require "cuttle.attention_backward_pair"
local join = pair.join
$change
local is_changed = #[=[$change]=] > 0
local function try(n, nk, causal)
  manual_seed(1)
  local Q, dO = randn(bf16, row_major{1, 2, n, 200}), randn(bf16, row_major{1, 2, n, 200})
  local K, V = randn(bf16, row_major{1, 1, nk, 200}), randn(bf16, row_major{1, 1, nk, 200})
  local O, LSE = zeros(bf16, row_major{1, 2, n, 200}), zeros(f32, row_major{1, 2, n})
  if not is_changed then O, LSE = attention(Q, K, V, {causal = causal, lse = true}) end
  local options = {causal = causal, config = "hopper 64x64"}
  local got = {attention_backward(dO, Q, K, V, O, LSE, options)}
  if is_changed then return end
  options.config = "plain"
  for i, t in ipairs{attention_backward(dO, Q, K, V, O, LSE, options)} do
    if not allclose(got[i], t, {atol = 0.05, rtol = 0.05}) then print("gradient " .. i) end
  end
end
try($problem)
]]

local says = dofile "tests/support/checked_gradients.lua" (tap, PROGRAM)

local function without(name)
  return ([[
function pair.join(...)
  local joined = join(...)
  function joined:%s() end
  return joined
end]]):format(name)
end

if not arg[1] then
  says("", "100, 200, true", nil, "check: no finding", "causal, an odd number of tiles of keys")
  says("--schedules=2", "40, 128, false", nil, "check: no finding", "full")
end
says("", "70, 128, false", without "await_place", "race", "no wait for a place")
says("", "70, 128, false", without "await_dS", "race", "no wait for dS'")
tap.done()
