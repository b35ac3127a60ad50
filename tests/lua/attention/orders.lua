-- Attention on Hopper in every order of its warps: three groups multiply, and with `causal` some of
-- them have nothing to do for some blocks of keys, but must see all phases of the barriers.
local tap = dofile "tests/support/tap.lua"
local check = require "cuttle.check"
local attention = require "cuttle".attention

local N <const>, D <const> = 260, 64
local function rows() return randn(bf16, row_major{1, 1, N, D}) end

local findings = check.run(function()
  attention(rows(), rows(), rows(), {config = "hopper 192x80", causal = true})
end, {orders = 20})
local explored = findings.explored and findings.explored[1] or {}
tap.ok(#findings == 0, "no order has a fault", findings[1] and check.line(findings[1]))
tap.ok(explored.is_whole and explored.n_run == 1, "no warp can tell its orders apart",
  explored.n_run)
tap.done()
