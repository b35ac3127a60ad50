-- rows.lua: operators of rows, each a row_kernel: norms, softmax, losses, gates, rotary embedding,
-- quantisation, and their gradients. Arguments and results are (..., columns); what a row has once
-- is (..., 1). All take {out =, stream =} last, as any row_kernel does.
local internal = ...
local arguments = require "cuttle.arguments"
local formats = require "cuttle.row_formats"
local choices = require "cuttle.row_choices"
local operator = require "cuttle.row_operator"
local tiles = require "cuttle.tiles"
local lists = require "cuttle.lists"
local M = lists.with(require "cuttle.row_gates")

-- {====== Norms ======

--- rms_norm(x, weight, epsilon) -> x / rms(x) weight, and 1 / rms(x) of each row
M.rms_norm = row_kernel("rms_norm", function(row, x, weight, epsilon)
  local scale = rsqrt(row:mean(x * x) + epsilon)
  return x * scale * weight, row:once(scale)
end)

--- rms_norm_backward(dy, x, weight, scale) -> dx, dweight; `scale` is rms_norm's second result
M.rms_norm_backward = row_kernel("rms_norm_backward", function(row, dy, x, weight, scale)
  row:expect_once "scale"
  local normal, g = x * scale, dy * weight
  return (g - normal * row:mean(g * normal)) * scale, row:column_sum(dy * normal)
end)

--- add_rms_norm(x, residual, weight, epsilon) -> rms_norm of the sum, the sum, 1 / rms of each row
M.add_rms_norm = row_kernel("add_rms_norm", function(row, x, residual, weight, epsilon)
  local sum = row:keep(x + residual)
  local scale = rsqrt(row:mean(sum * sum) + epsilon)
  return sum * scale * weight, sum, row:once(scale)
end)

--- add_rms_norm_backward(dy, dsum, sum, weight, scale) -> the gradient of x and of residual, which
--- is the same, and dweight; dsum is the gradient of the sum, for what else reads it
M.add_rms_norm_backward = row_kernel("add_rms_norm_backward",
  function(row, dy, dsum, sum, weight, scale)
    row:expect_once "scale"
    local normal, g = sum * scale, dy * weight
    return (g - normal * row:mean(g * normal)) * scale + dsum, row:column_sum(dy * normal)
  end)

--- layer_norm(x, weight, bias, epsilon) -> y, the mean and 1 / standard deviation of each row
M.layer_norm = row_kernel("layer_norm", function(row, x, weight, bias, epsilon)
  local mean, variance = row:mean_and_variance(x)
  local scale = rsqrt(variance + epsilon)
  return (x - mean) * scale * weight + bias, row:once(mean), row:once(scale)
end)

--- layer_norm_backward(dy, x, weight, mean, scale) -> dx, dweight, dbias
M.layer_norm_backward = row_kernel("layer_norm_backward",
  function(row, dy, x, weight, mean, scale)
    row:expect_once "mean"
    row:expect_once "scale"
    local normal, g = (x - mean) * scale, dy * weight
    local mean_g, mean_gn = row:mean(g, g * normal)
    return (g - mean_g - normal * mean_gn) * scale, row:column_sum(dy * normal), row:column_sum(dy)
  end)

--- add_layer_norm(x, residual, weight, bias, epsilon) -> layer_norm of the sum, the sum, and the
--- mean and 1 / standard deviation of each row
M.add_layer_norm = row_kernel("add_layer_norm", function(row, x, residual, weight, bias, epsilon)
  local sum = row:keep(x + residual)
  local mean, variance = row:mean_and_variance(sum)
  local scale = rsqrt(variance + epsilon)
  return (sum - mean) * scale * weight + bias, sum, row:once(mean), row:once(scale)
end)

--- add_layer_norm_backward(dy, dsum, sum, weight, mean, scale) -> the gradient of x and of
--- residual, which is the same, dweight and dbias; dsum is as in add_rms_norm_backward
M.add_layer_norm_backward = row_kernel("add_layer_norm_backward",
  function(row, dy, dsum, sum, weight, mean, scale)
    row:expect_once "mean"
    row:expect_once "scale"
    local normal, g = (sum - mean) * scale, dy * weight
    local mean_g, mean_gn = row:mean(g, g * normal)
    return (g - mean_g - normal * mean_gn) * scale + dsum, row:column_sum(dy * normal),
      row:column_sum(dy)
  end)

-- {====== Softmax and losses ======

--- softmax(x) -> exp(x) / sum of exp(x)
M.softmax = row_kernel("softmax", function(row, x)
  return row:softmax(x)
end)

--- softmax_backward(dy, y) -> dx; `y` is softmax's result
M.softmax_backward = row_kernel("softmax_backward", function(row, dy, y)
  return (dy - row:sum(dy * y)) * y
end)

--- log_softmax(x) -> x - log of the sum of exp(x)
M.log_softmax = row_kernel("log_softmax", function(row, x)
  local top, sum = row:max_and_sum_exp(x)
  return x - (top + log(sum))
end)

--- log_softmax_backward(dy, y) -> dx; `y` is log_softmax's result
M.log_softmax_backward = row_kernel("log_softmax_backward", function(row, dy, y)
  return dy - row:exp(y) * row:sum(dy)
end)

-- The loss of a row from its parts, NaN where the target is no column and not ignored; and what is
-- stored for the gradient.
local function loss_of(row, lse, goal, target, ignored)
  local loss = where(row:is_column(target), lse - goal, -(0 / 0))
  return row:once(where(target == ignored, 0.0, loss)), row:once(lse)
end

--- cross_entropy(x, target, ignored) -> the loss, and the logarithm of the sum of exp(x), of each
--- row. `target` (..., 1) has the row's column; a row with the target `ignored` has the loss 0.
M.cross_entropy = row_kernel("cross_entropy", function(row, x, target, ignored)
  row:expect_once "target"
  local picked = row:pick("x", target, target ~= ignored)
  local top, sum = row:max_and_sum_exp(x, picked)
  return loss_of(row, top + log(sum), picked, target, ignored)
end)

local function expect_loss(row)
  for _, name in ipairs { "dloss", "target", "lse" } do row:expect_once(name) end
end

local function sharp_gradient(row, dloss, x, target, lse, ignored)
  expect_loss(row)
  local d = row:exp(x - lse) - where(row:column() == target, 1.0, 0.0)
  return where(target == ignored, 0.0, d * dloss)
end

--- cross_entropy_backward(dloss, x, target, lse, ignored) -> dx
M.cross_entropy_backward = row_kernel("cross_entropy_backward", sharp_gradient)

local LONG <const> = 32768 -- columns up to which registers hold the row of a loss

--- The same with that share of each target spread over all columns.
M.smooth_cross_entropy = row_kernel("smooth_cross_entropy",
  function(row, x, target, smoothing, ignored)
    row:expect_once "target"
    local picked = row:pick("x", target, target ~= ignored)
    local mean
    if row:length() > LONG then mean = row:mean(x) end -- later, it would spill
    local top, sum = row:max_and_sum_exp(x, picked)
    if row:length() <= LONG then mean = row:mean(x) end
    local goal = (1.0 - smoothing) * picked + smoothing * mean
    return loss_of(row, top + log(sum), goal, target, ignored)
  end)

local function smooth_gradient(row, dloss, x, target, lse, smoothing, ignored)
  expect_loss(row)
  local share = where(row:column() == target, 1.0 - smoothing, 0.0) + smoothing / row:length()
  return where(target == ignored, 0.0, (row:exp(x - lse) - share) * dloss)
end

--- smooth_cross_entropy_backward(dloss, x, target, lse, smoothing, ignored) -> dx
M.smooth_cross_entropy_backward = row_kernel("smooth_cross_entropy_backward", smooth_gradient)

-- v where a probability is above 0: what has none may be infinite.
local function if_any(probability, v) return where(probability > 0.0, v, 0.0) end

--- kl_divergence(x, teacher) -> the sum of p (log p - log q) of each row, where p is the softmax of
--- `teacher` and q that of x; the lse of x, and that of the teacher
M.kl_divergence = row_kernel("kl_divergence", function(row, x, teacher)
  local top, sum = row:max_and_sum_exp(x)
  local top_p, sum_p = row:max_and_sum_exp(teacher)
  local lse, lse_p = top + log(sum), top_p + log(sum_p)
  local p = row:exp(teacher - lse_p)
  local loss = row:sum(p * if_any(p, teacher - lse_p - (x - lse)))
  return row:once(loss), row:once(lse), row:once(lse_p)
end)

--- kl_divergence_backward(dloss, x, teacher, lse, teacher_lse) -> dx; the teacher has no gradient
M.kl_divergence_backward = row_kernel("kl_divergence_backward",
  function(row, dloss, x, teacher, lse, teacher_lse)
    for _, name in ipairs { "dloss", "lse", "teacher_lse" } do row:expect_once(name) end
    return (row:exp(x - lse) - row:exp(teacher - teacher_lse)) * dloss
  end)

--- entropy(x) -> the entropy of softmax(x) of each row, in nats, and the lse
M.entropy = row_kernel("entropy", function(row, x)
  local top, sum = row:max_and_sum_exp(x)
  local lse = top + log(sum)
  local p = row:exp(x - lse)
  return row:once(row:sum(p * if_any(p, lse - x))), row:once(lse)
end)

--- entropy_backward(d, x, entropy, lse) -> dx
M.entropy_backward = row_kernel("entropy_backward", function(row, d, x, entropy, lse)
  for _, name in ipairs { "d", "entropy", "lse" } do row:expect_once(name) end
  local p = row:exp(x - lse)
  return p * if_any(p, lse - x - entropy) * d
end)

-- {====== The mean of losses ======

-- Of all losses as one row: their mean without those of ignored targets, and one row's share of it.
local mean_loss = row_kernel("mean_loss", function(row, loss, target, ignored)
  local sum, n = row:sum(loss, where(target == ignored, 0.0, 1.0))
  return row:once(sum / n), row:once(1.0 / n)
end)

-- (rows, 1) as one row.
local function as_row(t) return view(t, layout({ 1, size(t, 0) }, { 0, stride(t)[1] })) end

local of_mean <const> = { "check", "out", "stream" }

-- NAME_mean(x, target, ..., ignored[, options]) -> the mean loss and one row's share of it, f32
-- (1,1), and the loss and the lse of each row. x is (rows, columns), target (rows, 1).
local function with_mean(name)
  local op <const> = name .. "_mean"
  return operator.new(op, function(launch, x, target, ...)
    for which, t in pairs { x = x, target = target } do
      arguments.check_tensor(op, t, which, "of 2 modes", "it launches kernels itself")
      if rank(t) ~= 2 then tiles.fail(op, "%s is %s; expected 2 modes", which, shape(t)) end
    end
    local given = table.pack(...)
    local options = arguments.options(op, arguments.take_options(given), of_mean, "{stream = s}")
    local out, ignored = arguments.results(op, options.out, 4), given[given.n]
    local function with(first)
      return { out = out and { out[first], out[first + 1] }, stream = options.stream,
        check = options.check }
    end
    given[given.n + 1] = with(3)
    local loss, lse = launch.rows(M[name], x, target, table.unpack(given, 1, given.n + 1))
    local mean, share = launch.rows(mean_loss, as_row(loss), as_row(target), ignored, with(1))
    return mean, share, loss, lse
  end)
end

--- cross_entropy_mean(x, target, ignored), smooth_cross_entropy_mean(x, target, smoothing, ignored)
M.cross_entropy_mean = with_mean "cross_entropy"
M.smooth_cross_entropy_mean = with_mean "smooth_cross_entropy"

--- cross_entropy_mean_backward(d, share, x, target, lse, ignored) -> dx; d and share are (1,1)
M.cross_entropy_mean_backward = row_kernel("cross_entropy_mean_backward",
  function(row, d, share, x, target, lse, ignored)
    return sharp_gradient(row, d * share, x, target, lse, ignored)
  end)

--- smooth_cross_entropy_mean_backward(d, share, x, target, lse, smoothing, ignored) -> dx
M.smooth_cross_entropy_mean_backward = row_kernel("smooth_cross_entropy_mean_backward",
  function(row, d, share, x, target, lse, smoothing, ignored)
    return smooth_gradient(row, d * share, x, target, lse, smoothing, ignored)
  end)

-- {====== Rotary embedding, quantisation ======

--- rotary(a, b, cos, sin) -> a cos - b sin, b cos + a sin: a and b are the halves of x that turn
--- together, views of it, and so are the results. The gradient is the same with -sin.
M.rotary = row_kernel("rotary", function(_, a, b, cos, sin)
  return a * cos - b * sin, b * cos + a * sin
end)

-- quantize_F(x), and NORM_F(...) of each norm and swiglu_F(gate, up), for each format F of
-- row_formats.lua -> the elements and the scales of blocks, and then what the norm returns after
-- its first result.
local function quantized(name, format, types)
  M["quantize_" .. name] = row_kernel("quantize_" .. name,
    function(row, x) return format(row, x) end, { types = types })
  local norms <const> = { "rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm", "swiglu" }
  for _, first in ipairs(norms) do
    local own = ("%s_%s"):format(first, name)
    M[own] = M[first]:followed_by(own, format, { types = types })
  end
end

for _, format in ipairs(formats.named) do quantized(table.unpack(format)) end
--- quantize(x): the same as quantize_fp8_rows(x)
M.quantize = M.quantize_fp8_rows

--- quantize_nvfp4(x, global) -> x / (scale global) in f4e2m1, and a scale, f8ue4m3, for each block
--- of 16 columns; `global` is a number, or a tensor (1,1)
M.quantize_nvfp4 = row_kernel("quantize_nvfp4", function(row, x, global)
  return formats.nvfp4(row, x, global)
end, { types = { f4e2m1, f8ue4m3 } })

local largest_of = row_kernel("largest", function(row, x)
  return row:once(row:max(abs(cast(x, f32))))
end, { types = { f32 } })
local global_of = row_kernel("nvfp4_global", function(row, most)
  local all = row:max(most)
  return row:once(where(all > 0.0, all * (1.0 / formats.nvfp4_largest), 1.0))
end, { types = { f32 } })

--- nvfp4_global(x) -> the scale of the whole tensor that quantize_nvfp4 takes, f32 (1,1)
function M.nvfp4_global(x)
  local most = largest_of(x)
  return global_of(view(most, layout({ 1, size(most) }, { 0, 1 })))
end

-- {====== Choices ======

--- argmax(x) -> the column of each row's largest element, i32, and that element
M.argmax = row_kernel("argmax", function(row, x)
  local value = internal.kernel.widened(x)
  if internal.kernel.dtype_of(value) == bool then value = where(value, 1, 0) end
  local best = choices.largest(row, value)
  return row:once(best.at), row:once(best.value)
end)

--- sample(x, temperature, seed) -> a column of each row, i32, drawn with the probabilities
--- softmax(x / temperature). The same seed draws the same columns, on both engines. The temperature
--- 0 takes the largest.
M.sample = row_kernel("sample", function(row, x, temperature, seed)
  local u = row:keep_once(choices.uniform(row, seed))
  return row:once(choices.draw(row, x, u, temperature))
end, { types = { i32 } })

local others <const> = { (require "cuttle.row_dropout"), (require "cuttle.row_group_norm"),
  (require "cuttle.row_loss"), (require "cuttle.row_rotary") }
for _, more in ipairs(others) do
  for name, f in pairs(more) do M[name] = f end
end

return M
