---@meta cuttle.optimizers
-- Topic: optimizers: steps of training for lists of tensors; require "cuttle.optimizers"
local optimizers = {} ---@class cuttle.optimizers

--- An optimizer that makes steps of AdamW, as PyTorch's.
--- o:step(gradients, options) makes a step; its options are `rate`, `beta1`, `beta2`, `epsilon`,
--- `decay` and `max_norm`, the last of which bounds the norm of all gradients and returns it.
---@param parameters table tensors, which are stepped
---@param options? table `masters`: keep f32 copies; `stochastic`: round bf16 at random; `seed`
---@return table # the optimizer
function optimizers.adamw(parameters, options) end

--- An optimizer that makes steps of stochastic gradient descent.
--- o:step(gradients, options) makes a step; its options are `rate`, `momentum`, `decay`, `nesterov`
--- and `max_norm`.
---@param parameters table tensors, which are stepped
---@param options? table as of optimizers.adamw
---@return table # the optimizer
function optimizers.sgd(parameters, options) end

--- The root of the sum of squares of all elements of the gradients.
---@param gradients table tensors
---@return Tensor # an f32 on their device
function optimizers.gradient_norm(gradients) end

return optimizers
