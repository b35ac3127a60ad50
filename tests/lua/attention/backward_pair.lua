-- attention_backward for D above 128 on Hopper, where two blocks share dQ: the same gradients as of
-- the plain kernels, and what `check` says to a group that does not wait before it writes, and to
-- one that does not wait for dS' of the other block. An argument: only the latter. Where parts
-- of dQ have 48 or 96 columns, their stores have no bank conflicts.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

-- `change` is made before. Then only what `check` says counts, and no gradients are compared.
local PROGRAM <const> = [[
local pair = require "cuttle.attention_backward_pair"
local join = pair.join
$change
local is_changed = #[=[$change]=] > 0
local function try(n, nk, causal, d, config)
  manual_seed(1)
  local Q, dO = randn(bf16, row_major{1, 2, n, d}), randn(bf16, row_major{1, 2, n, d})
  local K, V = randn(bf16, row_major{1, 1, nk, d}), randn(bf16, row_major{1, 1, nk, d})
  local O, LSE = zeros(bf16, row_major{1, 2, n, d}), zeros(f32, row_major{1, 2, n})
  if not is_changed then O, LSE = attention(Q, K, V, {causal = causal, lse = true}) end
  local options = {causal = causal, config = "hopper 64x64" .. (config or "")}
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
  function joined:%s() return 0 end
  return joined
end]]):format(name)
end

if not arg[1] then
  says("", "100, 200, true, 200", nil, "check: no finding", "causal, an odd number of tiles")
  says("--schedules=2", "40, 128, false, 200", nil, "check: no finding", "full")
  says("--schedules=2", "70, 200, true, 192, ', D 192'", nil, "check: no finding", "48 columns")
  says("--schedules=2", "330, 128, false, 192, ', D 192'", nil, "check: no finding", "dQ late")
  local path <const> = shell.file [[
local t, l = zeros(bf16, row_major{1, 1, 64, 192}), zeros(f32, row_major{1, 1, 64})
for _, in_turns in ipairs{false, true} do
  attention_backward(t, t, t, t, t, l, {config = "hopper 64x64, D 192", deterministic = in_turns})
end]]
  local text, n = shell.cuttle("profile %s", path), 0
  os.remove(path)
  for _ in text:gmatch "store shared [^\n]+2xf32 [^\n]+no conflicts" do n = n + 1 end
  tap.ok(n == 2, "stores of 48 and 96 columns of dQ", text)
end
says("", "70, 128, false, 200", without "await_place", "race", "no wait for a place")
says("", "70, 128, false, 200", without "await_dS", "race", "no wait for dS'")
says("", "330, 128, false, 192, ', D 192'", without "await_place", "race", "the same, dQ late")
says("", "330, 128, false, 192, ', D 192'", without "await_dS", "race", "the same for dS'")
tap.done()
