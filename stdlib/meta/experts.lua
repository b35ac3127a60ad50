---@meta cuttle.expert_layer
-- Topic: experts: the layer of a mixture of experts; require "cuttle.expert_layer"
-- T tokens of D numbers, E experts of F hidden numbers. docs/matmul.md has options and examples.
local expert_layer = {} ---@class cuttle.expert_layer

--- Chooses k experts for each token, and sorts the choices by expert.
--- Weights are the softmax of the chosen logits; `normalize = false`: of all logits; `score =
--- "sigmoid"` takes the logistic function. `correction_bias` (E) is added to scores for the choice
--- only; `groups = {n, m}`: of m of n groups of experts; `scale` multiplies weights.
---
---     > logits = view(from_table(f32, {0, 1, 3, 2}), row_major{2, 2}) -- tokens 0 and 1
---     > r = require "cuttle.expert_layer".route(logits, 1)
---     > print(table.concat(r.tokens:totable(), " "))
---     1 0
---@param logits Tensor (T,E), row-major: f32, f16 or bf16
---@param k integer at most 32
---@param options? table `correction_bias`, `groups`, `normalize`, `scale`, `score`, `stream`
---@return table # k; tokens, places and weights (T k), ends (E)
function expert_layer.route(logits, k, options) end

--- The same, to be launched often.
---@param logits Tensor
---@param k integer
---@param options? table
---@return function # launches it again
---@return table # what it fills
function expert_layer.prepare_route(logits, k, options) end

--- A feed-forward layer of experts, by two grouped products.
--- Results of a token's experts are weighted. `combine` is "sum", in a fixed order by a third
--- launch, or "atomic", which adds to `out`, of f32.
---@param tokens Tensor (T,D)
---@param gate_up Tensor|table (2F,D,E): rows gate 0, up 0, gate 1, ...; perhaps packed
---@param down Tensor|table (D,F,E)
---@param routing table of route
---@param options? table `activation`, a function (gate, up) or its name; `bias`, {(2F,E), (D,E)};
--- `combine`, `configs`, `out`, `stream`; `kept`, (T k,2F), is filled with gates and ups for the
--- gradients; `quantize`, of packed weights: "fp8_rows", "int8_rows"
---@return Tensor # (T,D)
function expert_layer.expert_layer(tokens, gate_up, down, routing, options) end

--- The same, to be launched often.
---@param tokens Tensor
---@param gate_up Tensor
---@param down Tensor
---@param routing table
---@param options? table
---@return function # launches it again
---@return Tensor # (T,D)
---@return table # the names of both configurations
function expert_layer.prepare(tokens, gate_up, down, routing, options) end

--- The gradients of such a layer, from its arguments and what it kept.
---@param dY Tensor (T,D), the gradient of the layer's result
---@param tokens Tensor (T,D)
---@param gate_up Tensor (2F,D,E)
---@param down Tensor (D,F,E)
---@param routing table of route
---@param options? table `accumulate`; `gradient`, a function (gate, up); `kept`, that of the layer;
--- `out`, `stream`
---@return Tensor # of the tokens
---@return Tensor # of gate_up
---@return Tensor # of down
---@return Tensor # of routing.weights
function expert_layer.expert_layer_backward(dY, tokens, gate_up, down, routing, options) end

--- The same, to be launched often.
---@param dY Tensor
---@param tokens Tensor
---@param gate_up Tensor
---@param down Tensor
---@param routing table
---@param options? table
---@return function # launches it again
---@return Tensor[] # the gradients
function expert_layer.prepare_backward(dY, tokens, gate_up, down, routing, options) end

--- The gradient of the router's logits.
---@param dweights Tensor (T k), the gradient of routing.weights
---@param logits Tensor (T,E)
---@param routing table of route
---@param options? table those that route had; `out`, a tensor for it
---@return Tensor # (T,E)
function expert_layer.route_backward(dweights, logits, routing, options) end

return expert_layer
