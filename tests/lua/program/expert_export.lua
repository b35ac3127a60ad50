-- Gradients of a layer of experts, with its router, as plain C: the twin for the CPU gives the bits
-- that the process gave.
local c = dofile "tests/support/plain_c.lua"

c.write("experts.lua", [[
local experts = require "cuttle.expert_layer"
local T, D, F, E, k = 12, 16, 24, 3, 2
local X, dY, logits = randn(bf16, row_major{T, D}), randn(bf16, row_major{T, D}),
  randn(f32, row_major{T, E})
local function weights(rows, columns)
  return randn(bf16, layout({rows, columns, E}, {columns, 1, rows * columns}))
end
local gate_up, down = weights(2 * F, D), weights(D, F)
local out = {tokens = zeros(bf16, row_major{T, D}), gate_up = weights(2 * F, D),
             down = weights(D, F), weights = zeros(f32, T * k)}
export(function(dY, X, logits, gate_up, down, tokens, dgate_up, ddown, weights)
  experts.expert_layer_backward(dY, X, gate_up, down, experts.route(logits, k),
    {out = {tokens = tokens, gate_up = dgate_up, down = ddown, weights = weights}})
end, {{dY, X, logits, gate_up, down, out.tokens, out.gate_up, out.down, out.weights}},
  {name = "gradients", sm = "90a", cpu = true})
]])
c.export "experts.lua"
c.compare "gradients"
c.done()
