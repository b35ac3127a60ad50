-- attention_backward_sinks.lua: the gradient of attention's sinks. A sink has a probability in each
-- row of its head, but no value, so that it is -exp2(sink log2(e) - L) D, summed over the queries.
-- L and D are those of attention_backward_rows.lua.
local on_device = require "cuttle.operator_device"
local M = {}

local LOG2_E <const> = 1 / math.log(2)
local THREADS <const> = 256

-- The gradient (H,B), where B is 1 if all batches share the sinks.
local made = kernel("attention_backward_sinks", function(L, D, sinks, gradient, batches)
  local h, sum = blockIdx.x, 0.0
  local sink = cast(sinks[{h, blockIdx.y}], f32) * LOG2_E
  for b in range(blockIdx.y, batches, gridDim.y) do
    for q in range(threadIdx.x, size(L, 0), THREADS) do
      sum = sum - exp2(sink - L[{q, h, b}]) * D[{q, h, b}]
    end
  end
  sum = block_reduce(sum, "add")
  if threadIdx.x == 0 then gradient[{h, blockIdx.y}] = sum end
end)

--- The launch after `before`, that of attention_backward_rows.lua; adds dsinks to p.results, of
--- the sinks' extents: (H) or (B,H).
function M.step(p, before)
  local L, D, given = before.args[4], before.args[5], p.score.given_sinks
  local n = rank(given) == 2 and size(given, 0) or 1
  local heads = size(given, rank(given) - 1)
  local gradient = on_device.new(p.device, f32, row_major(shape(given)))
  p.results[4] = gradient
  return { kernel = made,
           launch = { grid = { heads, n }, block = THREADS, stream = p.stream },
           args = { L, D, view(given, layout({ heads, n }, { stride(given, rank(given) - 1),
             n > 1 and stride(given, 0) or 0 })),
             view(gradient, layout({ heads, n }, { 1, heads })), p.batches } }
end

return M
