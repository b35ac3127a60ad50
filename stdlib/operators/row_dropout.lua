-- row_dropout.lua: dropout of rows, alone, with a residual, and before an RMS norm. What drops is
-- decided by the row, the column and a seed, so nothing is stored for the gradient.
local dropping = require "cuttle.dropout"
local tiles = require "cuttle.tiles"
local M = {}

local function kept(row, v, least, seed, factor)
  return v * where(row:random(seed) >= least, factor, 0.0)
end

local alone = row_kernel("dropout", function(row, x, least, seed, factor)
  return kept(row, x, least, seed, factor)
end)

local add = row_kernel("dropout_add", function(row, x, residual, least, seed, factor)
  return residual + kept(row, x, least, seed, factor)
end)

local add_norm = add:followed_by("dropout_add_rms_norm", function(row, v, weight, epsilon)
  local sum = row:keep(v)
  local scale = rsqrt(row:mean(sum * sum) + epsilon)
  return sum * scale * weight, sum, row:once(scale)
end)

local function numbers(op, p, seed)
  return dropping.numbers(function(...) tiles.fail(op, ...) end, "elements", p, seed)
end

--- dropout(x, p, seed) -> x with a share p of its elements 0, and the others divided by 1 - p
function M.dropout(x, p, seed, options)
  local least, own, factor = numbers("dropout", p, seed)
  return alone(x, least, own, factor, options or {})
end

--- dropout_backward(dy, p, seed) -> dx: the same elements of dy drop
function M.dropout_backward(dy, p, seed, options)
  local least, own, factor = numbers("dropout_backward", p, seed)
  return alone(dy, least, own, factor, options or {})
end

--- dropout_add(x, residual, p, seed) -> residual + dropout(x, p, seed); the gradient of x is
--- dropout_backward(dy, p, seed), that of residual is dy
function M.dropout_add(x, residual, p, seed, options)
  local least, own, factor = numbers("dropout_add", p, seed)
  return add(x, residual, least, own, factor, options or {})
end

--- dropout_add_rms_norm(x, residual, weight, epsilon, p, seed) -> rms_norm of the sum, the sum
--- residual + dropout(x, p, seed), 1 / rms of each row
function M.dropout_add_rms_norm(x, residual, weight, epsilon, p, seed, options)
  local least, own, factor = numbers("dropout_add_rms_norm", p, seed)
  return add_norm(x, residual, least, own, factor, weight, epsilon, options or {})
end

return M
