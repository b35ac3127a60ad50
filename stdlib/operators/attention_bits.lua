-- attention_bits.lua: what attention's option `bits` cannot be kept with. Contracts are those of
-- bits.lua. A kernel has one order for all rows of a head: blocks of keys one after the other, in
-- each the sums of one thread, then of the four or 32 lanes that share a row. Blocks of which a
-- row sees nothing add 0, and rows that only a neighbour makes scale do so by 1. So what differs is
-- what a template's `order` says; tests compare it with sum_order.
local bits = require "cuttle.bits"
local tiles = require "cuttle.tiles"
local M = {}

local function fail(format, ...) tiles.fail("attention", format, ...) end

--- Is `bits` a contract that the call can keep?
function M.check(p)
  bits.check("attention", p.bits)
  if p.lazy then
    fail("lazy = true breaks %s: a row is scaled anew when another row of its warp needs it, so "
      .. "its bits depend on its neighbours; leave out `lazy`", bits.title(p.bits))
  elseif p.score then
    fail("%s is for attention without masks and scores beside `causal`; leave out %s",
      bits.title(p.bits), p.score.kind.text)
  end
end

--- No configuration with the order of `like` computes the problem.
function M.refuse(like, p, why)
  fail("%s asks for the order of %s for %s, D = %d, on %s, but %s", bits.title(p.bits),
    bits.config(like), p.dtype, p.depth, p.device, why)
end

return M
