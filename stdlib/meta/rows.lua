---@meta cuttle.rows
-- Topic: rows: norms, softmax, losses and gates of rows; require "cuttle.rows"
-- Each is a kernel of rows: x may have any shape, and its last mode is the row. Options follow the
-- other arguments: `out`, `stream`. docs/rows.md has more.
local rows = {} ---@class cuttle.rows

--- Divides each row by its root mean square, and multiplies by the weight.
--- The gradient is rms_norm_backward(dy, x, weight, scale), where scale is the second result.
--- `rms_norm_mxfp8` and the like write narrow floats with scales: docs/rows.md has the formats.
---@param x Tensor
---@param weight Tensor
---@param epsilon number is added to the mean square or the variance
---@return Tensor
---@return Tensor # 1 / rms of each row
function rows.rms_norm(x, weight, epsilon) end

--- rms_norm of the sum of x and the residual.
--- The gradient is add_rms_norm_backward(dy, dsum, sum, weight, scale).
---@param x Tensor
---@param residual Tensor is added to x
---@param weight Tensor
---@param epsilon number is added to the mean square or the variance
---@return Tensor
---@return Tensor # the sum
---@return Tensor # 1 / rms of each row
function rows.add_rms_norm(x, residual, weight, epsilon) end

--- Brings each row to the mean 0 and the variance 1; then weight and bias.
--- The gradient is layer_norm_backward(dy, x, weight, mean, scale).
---@param x Tensor
---@param weight Tensor
---@param bias Tensor
---@param epsilon number is added to the mean square or the variance
---@return Tensor
---@return Tensor # the mean of each row
---@return Tensor # 1 / its standard deviation
function rows.layer_norm(x, weight, bias, epsilon) end

--- layer_norm of the sum of x and the residual.
--- The gradient is add_layer_norm_backward(dy, dsum, sum, weight, mean, scale).
---@param x Tensor
---@param residual Tensor is added to x
---@param weight Tensor
---@param bias Tensor
---@param epsilon number is added to the mean square or the variance
---@return Tensor
---@return Tensor # the sum
---@return Tensor # the mean of each row
---@return Tensor # 1 / its standard deviation
function rows.add_layer_norm(x, residual, weight, bias, epsilon) end

--- Brings each group of channels to the mean 0 and the variance 1.
--- The gradient is group_norm_backward(dy, x, groups, weight, mean, scale).
---@param x Tensor
---@param groups integer of channels; x is (images, channels, ...)
---@param weight Tensor
---@param bias Tensor
---@param epsilon number is added to the mean square or the variance
---@param options? table `smoothing`, `z`, `ignored`, `chunk`, `first`; docs/rows.md has them
---@return Tensor
---@return Tensor # the means
---@return Tensor # 1 / standard deviation
function rows.group_norm(x, groups, weight, bias, epsilon, options) end

--- exp(x) / sum of exp(x), in each row.
--- The gradient is softmax_backward(dy, y), where y is the result.
---
---     > require "cuttle.rows".softmax(from_table(f32, {{0, 0}, {1, 1}}))
---     tensor f32 (2,2):(2,1) on cpu
---       0.5  0.5
---       0.5  0.5
---@param x Tensor
---@return Tensor
function rows.softmax(x) end

--- x - log of the sum of exp(x), in each row.
--- The gradient is log_softmax_backward(dy, y), where y is the result.
---@param x Tensor
---@return Tensor
function rows.log_softmax(x) end

--- The loss of each row of logits.
--- The gradient is cross_entropy_backward(dloss, x, target, lse, ignored). Another target that is no
--- column makes the loss NaN; `check` names it.
---@param x Tensor
---@param target Tensor the column of each row, (..., 1)
---@param ignored integer a row with this target has the loss 0
---@return Tensor # the loss of each row
---@return Tensor # lse, the logarithm of the sum of exp(x)
function rows.cross_entropy(x, target, ignored) end

--- The loss of each row, with a share of each target spread over all columns.
--- The gradient is smooth_cross_entropy_backward(dloss, x, target, lse, smoothing, ignored).
---@param x Tensor
---@param target Tensor the column of each row, (..., 1)
---@param smoothing number the share of each target that is spread over all columns
---@param ignored integer a row with this target has the loss 0
---@return Tensor # the loss of each row
---@return Tensor # lse
function rows.smooth_cross_entropy(x, target, smoothing, ignored) end

--- How far the softmax of x is from that of the teacher, in nats, in each row.
--- It is the sum of p (log p - log q), where p is the softmax of `teacher` and q that of x. The gradient
--- is kl_divergence_backward(dloss, x, teacher, lse, teacher_lse); the teacher has none.
---@param x Tensor logits
---@param teacher Tensor logits
---@return Tensor # of each row
---@return Tensor # lse of x
---@return Tensor # lse of the teacher
function rows.kl_divergence(x, teacher) end

--- The entropy of softmax(x) of each row, in nats.
--- The gradient is entropy_backward(d, x, entropy, lse).
---@param x Tensor
---@return Tensor # of each row
---@return Tensor # lse
function rows.entropy(x) end

--- The mean of cross_entropy over the rows whose target is not ignored.
--- The gradient is cross_entropy_mean_backward(d, share, x, target, lse, ignored). With
--- `smooth_cross_entropy_mean`, `smoothing` comes before `ignored`.
---@param x Tensor (rows, columns)
---@param target Tensor the column of each row, (rows, 1)
---@param ignored integer a row with this target has the loss 0
---@return Tensor # the mean, (1,1)
---@return Tensor # the share of one row, (1,1)
---@return Tensor # the loss of each row
---@return Tensor # lse
function rows.cross_entropy_mean(x, target, ignored) end

--- cross_entropy of the product of x and weight, some columns at a time.
--- x is (rows, K), and weight is (columns, K). The gradient is linear_cross_entropy_backward(dloss, x,
--- weight, target, lse, options).
---@param x Tensor
---@param weight Tensor
---@param target Tensor the column of each row, (..., 1)
---@param options? table `smoothing`, `z`, `ignored`, `chunk`, `first`; docs/rows.md has them
---@return Tensor # the loss of each row
---@return Tensor # lse
function rows.linear_cross_entropy(x, weight, target, options) end

--- linear_cross_entropy and its gradients at once.
--- The logits are made once, and those of some rows are in memory at a time.
---@param dloss number|Tensor the gradient of each row's loss, a number or (rows, 1)
---@param x Tensor
---@param weight Tensor
---@param target Tensor the column of each row, (..., 1)
---@param options? table `smoothing`, `z`, `ignored`, `rows`, `out`; docs/rows.md has them
---@return Tensor # the loss of each row
---@return Tensor # lse
---@return Tensor # dx
---@return Tensor # dweight
function rows.linear_cross_entropy_gradients(dloss, x, weight, target, options) end

--- What cross_entropy_merge needs of a part of the columns of a vocabulary.
---@param x Tensor
---@param weight Tensor
---@param target Tensor the column of each row, (..., 1)
---@param options? table `smoothing`, `z`, `ignored`, `chunk`, `first`; docs/rows.md has them
---@return Tensor # lse, (rows, parts)
---@return Tensor # the target's logit, or 0
---@return Tensor # the sum of the logits
function rows.linear_cross_entropy_parts(x, weight, target, options) end

--- The same as linear_cross_entropy_parts, of logits.
--- The gradient is cross_entropy_part_backward(dloss, x, target, lse, first, columns, smoothing, z,
--- ignored).
---@param x Tensor
---@param target Tensor the column of each row, (..., 1)
---@param first integer the column of the vocabulary at which this part begins
---@return Tensor # lse, (rows, parts)
---@return Tensor # the target's logit, or 0
---@return Tensor # the sum of the logits
function rows.cross_entropy_part(x, target, first) end

--- The loss of whole rows, from the parts that ranks have.
---@param lse Tensor (rows, parts), of cross_entropy_part
---@param picked Tensor (rows, parts)
---@param total Tensor (rows, parts)
---@param target Tensor the column of each row, (..., 1)
---@param columns integer all ranks' columns
---@param smoothing number the share of each target that is spread over all columns
---@param z number the factor of lse squared
---@param ignored integer a row with this target has the loss 0
---@return Tensor # the loss of each row
---@return Tensor # lse
function rows.cross_entropy_merge(lse, picked, total, target, columns, smoothing, z, ignored) end

--- gate * sigmoid(gate) * up.
--- The gradient is swiglu_backward(dy, gate, up).
---@param gate Tensor
---@param up Tensor
---@return Tensor
function rows.swiglu(gate, up) end

--- gelu(gate) * up, with the exact GELU.
--- The gradient is geglu_backward(dy, gate, up).
---@param gate Tensor
---@param up Tensor
---@return Tensor
function rows.geglu(gate, up) end

--- gelu(gate) * up, with the approximation of GELU by tanh.
--- The gradient is geglu_tanh_backward(dy, gate, up).
---@param gate Tensor
---@param up Tensor
---@return Tensor
function rows.geglu_tanh(gate, up) end

--- x / rms(x) * weight * gate * sigmoid(gate), in each row.
--- The gradient is rms_norm_swiglu_backward(dy, x, gate, weight, scale).
---@param x Tensor
---@param gate Tensor
---@param weight Tensor
---@param epsilon number is added to the mean square
---@return Tensor
---@return Tensor # 1 / rms of each row
function rows.rms_norm_swiglu(x, gate, weight, epsilon) end

--- Sets elements to 0 with a probability, and scales the others by 1 / (1 - p).
--- The gradient is dropout_backward(dy, p, seed): the seed decides again.
---@param x Tensor
---@param p number the probability that an element becomes 0
---@param seed integer
---@param options? table
---@return Tensor
function rows.dropout(x, p, seed, options) end

--- dropout of x, and then the sum with the residual.
---@param x Tensor
---@param residual Tensor is added to x
---@param p number the probability that an element becomes 0
---@param seed integer
---@param options? table
---@return Tensor
function rows.dropout_add(x, residual, p, seed, options) end

--- rms_norm of the sum of the residual and dropout of x.
---@param x Tensor
---@param residual Tensor is added to x
---@param weight Tensor
---@param epsilon number is added to the mean square or the variance
---@param p number the probability that an element becomes 0
---@param seed integer
---@param options? table
---@return Tensor
---@return Tensor # the sum
---@return Tensor # 1 / rms of each row
function rows.dropout_add_rms_norm(x, residual, weight, epsilon, p, seed, options) end

--- a cos - b sin and b cos + a sin, for views a and b of a tensor.
--- The gradient is the same with -sin.
---@param a Tensor
---@param b Tensor
---@param cos Tensor (positions, n / 2)
---@param sin Tensor (positions, n / 2)
---@return Tensor
---@return Tensor
function rows.rotary(a, b, cos, sin) end

--- Turns column i together with column i + n / 2, as GPT-NeoX and Llama do.
--- The gradient is rotary_halves_backward(dy, cos, sin, position).
---@param x Tensor
---@param cos Tensor (positions, n / 2)
---@param sin Tensor (positions, n / 2)
---@param position Tensor|integer of each row, (..., 1), or one for all
---@return Tensor
function rows.rotary_halves(x, cos, sin, position) end

--- Turns columns 2i and 2i + 1 together.
--- The gradient is rotary_pairs_backward(dy, cos, sin, position).
---@param x Tensor
---@param cos Tensor (positions, n / 2)
---@param sin Tensor (positions, n / 2)
---@param position Tensor|integer of each row, (..., 1), or one for all
---@return Tensor
function rows.rotary_pairs(x, cos, sin, position) end

--- rms_norm, and then rotary_halves.
--- The gradient is rms_norm_rotary_halves_backward(dy, x, weight, scale, cos, sin, position).
---@param x Tensor
---@param weight Tensor
---@param epsilon number is added to the mean square or the variance
---@param cos Tensor (positions, n / 2)
---@param sin Tensor (positions, n / 2)
---@param position Tensor|integer of each row, (..., 1), or one for all
---@return Tensor
---@return Tensor # 1 / rms of each row
function rows.rms_norm_rotary_halves(x, weight, epsilon, cos, sin, position) end

--- rms_norm, and then rotary_pairs.
--- The gradient is rms_norm_rotary_pairs_backward.
---@param x Tensor
---@param weight Tensor
---@param epsilon number is added to the mean square or the variance
---@param cos Tensor (positions, n / 2)
---@param sin Tensor (positions, n / 2)
---@param position Tensor|integer of each row, (..., 1), or one for all
---@return Tensor
---@return Tensor # 1 / rms of each row
function rows.rms_norm_rotary_pairs(x, weight, epsilon, cos, sin, position) end

--- x / scale in f8e4m3, with a scale for each row, so that the largest is 448.
--- `quantize_mxfp8`, `rms_norm_int8_rows` and the like have other formats, which docs/rows.md lists.
---@param x Tensor
---@return Tensor
---@return Tensor # the scale of each row
function rows.quantize(x) end

--- Divides by scales, to f4e2m1, as NVFP4: a scale for each 16 columns.
--- x is about the element, times its scale, times `global`. Two elements share a byte.
--- See: rows.nvfp4_global.
---@param x Tensor
---@param global number|Tensor the scale of the whole tensor: a number, or a tensor (1,1)
---@return Tensor
---@return Tensor # the scales, f8ue4m3
function rows.quantize_nvfp4(x, global) end

--- The scale of a whole tensor that quantize_nvfp4 takes.
--- It makes the largest scale of a block 448, the largest number of f8ue4m3.
---@param x Tensor
---@return Tensor # f32 (1,1)
function rows.nvfp4_global(x) end

--- The column of each row's largest element, and that element.
--- NaN counts as -inf.
---@param x Tensor
---@return Tensor # the column, i32
---@return Tensor # the element
function rows.argmax(x) end

--- A random column of each row, by softmax(x / temperature).
--- The same seed draws the same columns, on both engines.
---@param x Tensor
---@param temperature number 0 takes the largest element
---@param seed integer
---@return Tensor # the column, i32
function rows.sample(x, temperature, seed) end

return rows
