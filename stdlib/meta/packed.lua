---@meta cuttle.packed_weights
-- Topic: packed: weights of 4 and 8 bits for matmul; require "cuttle.packed_weights"
-- A weight is (N,K): an element is what its code stands for times the scale of its group, which is
-- so many elements of a row. matmul(X, w) takes the packed weight w as B; X is f16, bf16 or, with
-- {scale_a = S}, f8e4m3 or i8. All have a third mode for {groups = ends}. w:dequantize(bf16) is a
-- matrix (N,K), w:to(device) a copy.
-- docs/matmul.md has types, kernels and errors.
local packed_weights = {} ---@class cuttle.packed_weights

--- Reorders the codes of a weight once, for products with it.
--- Types are "u4" and "u8", numbers from a zero point on, "f4e2m1", "f8e4m3" and "nf4". Codes are u8
--- (N,K), or u32 (N,K/8) of 4 bits, the first in the lowest bits. K is a multiple of 64.
---
---     > packed = require "cuttle.packed_weights"
---     > codes, scales = ones(u8, row_major{32, 128}), ones(bf16, 32) -- a code of 1 is 1 - 8
---     > w = packed.pack_weights(codes, {type = "u4", scales = scales})
---     > matmul(ones(bf16, row_major{2, 128}), w)[{1, 5}]
---     -896.0
---@param W Tensor codes
---@param options table `type`; `scales` (N,K/group), (N) or, of square blocks, (N/group,K/group);
--- `zero_points`, u8 like scales; `scale_type`
---@return table # the packed weight
function packed_weights.pack_weights(W, options) end

--- The packed weight with the fields of another one, as when these were stored.
--- Tensors may be flat, and codes i32.
---
---     > packed = require "cuttle.packed_weights"
---     > w = packed.pack_weights(ones(u8, row_major{32, 128}), {type = "u4", scales = ones(bf16, 32)})
---     > packed.weight_of{type = w.type, shape = w.shape, codes = w.codes, scales = w.scales}
---     packed weight u4 (32,128) in groups of 128, scales bf16, cpu
---@param of table `type`, `shape`, `codes`, `scales`, `zeros`, `most_zero`, `spread`
---@return table # the packed weight
function packed_weights.weight_of(of) end

--- Rounds a weight of floats to codes, by the largest element of each group.
---@param W Tensor (N,K) of f32, f16 or bf16
---@param options table `type`; `group`, 128 elements; `zero_points = true`; `scale_type`
---@return Tensor # codes, u8 (N,K)
---@return Tensor # scales (N,K/group)
---@return Tensor # zero points, if they are asked for
function packed_weights.quantize_weights(W, options) end

return packed_weights
