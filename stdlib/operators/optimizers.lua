-- optimizers.lua: steps of training over lists of tensors, of any lengths and types, in one launch
-- for each type: AdamW, SGD with momentum, and the norm of all gradients. A step is a function of
-- one element; row_lists.lua has the launches.
local lists = require "cuttle.row_lists"
local tiles = require "cuttle.tiles"
local M = {}

local function fail(op, format, ...) tiles.fail(op, format, ...) end

-- {====== Steps of an element ======
-- f(p, g, state, numbers) -> the new parameter and the new state, all f32.

-- PyTorch's order: the decay first, and epsilon beside the corrected root.
local function adamw_element(p, g, state, n)
  local m = n.beta1 * state[1] + n.rest1 * g
  local v = n.beta2 * state[2] + n.rest2 * g * g
  local root = sqrt(v) * n.root + n.epsilon
  return p * n.keep - n.size * (m / root), { m, v }
end

local function sgd_element(p, g, state, n)
  local d = g + n.decay * p
  local v = n.momentum * state[1] + d
  return p - n.rate * where(n.nesterov > 0.0, d + n.momentum * v, v), { v }
end

-- {====== Optimizers ======

local function number(op, options, name, default, least)
  local v = options[name]
  if v == nil then v = default end
  if type(v) ~= "number" or v ~= v or v < least then
    fail(op, "%s is %s; expected a number from %s on", name, tostring(v), least)
  end
  return v + 0.0
end

local adamw_options <const> = { "beta1", "beta2", "decay", "epsilon", "max_norm", "rate", "stream" }

local function adamw_numbers(options, count)
  local op <const> = "adamw"
  local beta1, beta2 = number(op, options, "beta1", 0.9, 0), number(op, options, "beta2", 0.999, 0)
  local rate, decay = number(op, options, "rate", 1e-3, 0), number(op, options, "decay", 0.01, 0)
  if beta1 >= 1 or beta2 >= 1 then
    fail(op, "beta1 is %s and beta2 is %s; expected numbers below 1", beta1, beta2)
  end
  return { beta1 = beta1, beta2 = beta2, rest1 = 1.0 - beta1, rest2 = 1.0 - beta2,
    epsilon = number(op, options, "epsilon", 1e-8, 0), keep = 1.0 - rate * decay,
    size = rate / (1.0 - beta1 ^ count), root = 1.0 / math.sqrt(1.0 - beta2 ^ count) }
end

local sgd_options <const> = { "decay", "max_norm", "momentum", "nesterov", "rate",
  "stream" }

local function sgd_numbers(options)
  local op <const> = "sgd"
  return { rate = number(op, options, "rate", 1e-3, 0),
    momentum = number(op, options, "momentum", 0.0, 0),
    decay = number(op, options, "decay", 0.0, 0), nesterov = options.nesterov and 1.0 or 0.0 }
end

--- adamw(parameters, options) -> an optimizer of a list of tensors. Options: masters = true keeps
--- f32 copies that are stepped in place of narrow parameters; stochastic = true rounds bf16
--- parameters up or down at random, with their exact value as the mean; seed, for it.
--- optimizer:step(gradients, {rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8,
--- decay = 0.01, max_norm = nil, stream = nil}) steps once, and returns the norm of all gradients
--- if max_norm is given.
function M.adamw(parameters, options)
  return lists.new("adamw", parameters, options,
    { element = adamw_element, n_states = 2, numbers = adamw_numbers, options = adamw_options })
end

--- sgd(parameters, options) -> an optimizer as adamw's. optimizer:step(gradients, {rate = 1e-3,
--- momentum = 0, decay = 0, nesterov = false, max_norm = nil}).
function M.sgd(parameters, options)
  return lists.new("sgd", parameters, options,
    { element = sgd_element, n_states = 1, numbers = sgd_numbers, options = sgd_options })
end

--- gradient_norm(gradients) -> the root of the sum of squares of all elements of a list of tensors,
--- a tensor f32 of one element on their device
M.gradient_norm = lists.norm

return M
