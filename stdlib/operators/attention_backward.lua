-- attention_backward.lua: attention_backward(dO, Q, K, V, O, LSE, options): the gradients of
-- attention. attention_problem.lua checks the arguments; this file chooses a configuration and
-- launches the kernels that its template makes. A template is a module with
--   trouble(config, p)         why its kernels cannot compute the problem, or nil
--   variant(p, config)         what its kernels depend on beside dtype and causal: depth, depth_v,
--                              is_whole
--   make(variant)              the kernels, as plan wants them
--   plan(p, kernels, variant)  {kernel =, launch =, args =} of each launch, in order
-- A variant is a configuration with the problem's dtype, causal and deterministic, `packed` where
-- its sequences are, `score` of masks and scores, as attention.lua has it, and what `variant`
-- returns.
local given = require "cuttle.operator_config"
local problem = require "cuttle.attention_problem"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score"
local sinks = require "cuttle.attention_backward_sinks"
local on_device = require "cuttle.operator_device"
local launches = require "cuttle.operator_steps"
local widen = require "cuttle.attention_backward_widen"
local M = {}

local op <const> = "attention_backward"

-- What is tried in order; the last one computes everything. On the CPU engine only that one is, the
-- others where `config` says so. `sm` is the compute capability that the instructions are of, and
-- `sm_from` that since which they are there.
local HOPPER <const> = "cuttle.attention_backward_hopper"
M.configs = {
  { name = "hopper 128x128", template = HOPPER, sm = 90, depth = 64, rows = 128, groups = 2,
    stages = 2, registers = { 24, 240 }, by_rows = true, ahead = true, held = 32,
    idle = 8, stay = true, cut = true },
  { name = "hopper 64x128", template = HOPPER, sm = 90, depth = 128, rows = 64, groups = 2,
    stages = 2, registers = { 24, 240 }, idle = 8, idle_full = true, stay = true, cut = true },
  { name = "hopper 64x64, Dv 128", template = HOPPER, sm = 90, depth = 192, depth_v = 128,
    rows = 64, groups = 2, stages = 2, O_stages = 2, registers = { 24, 240 }, by_depth = true,
    held = 128, held_where = "pairs", held_keys = 192, pair = true, late = true, cut = true },
  { name = "hopper 64x64, D 192", template = HOPPER, sm = 90, depth = 192, rows = 64, groups = 2,
    stages = 2, O_stages = 2, registers = { 24, 240 }, by_depth = true, held = 96,
    held_where = "pairs", held_keys = 192, pair = true, late = true, cut = true },
  { name = "hopper 64x64", template = HOPPER, sm = 90, depth = 256, rows = 64, groups = 2,
    stages = 2, registers = { 24, 240 }, by_depth = true, ahead = true, held = 64,
    held_where = "full", pair = true, cut = true },
  { name = "mma 64x32", template = "cuttle.attention_backward_mma", sm_from = 80, depth = 128,
    rows = 64, columns = 32, warps = 4 },
  { name = "plain", template = "cuttle.attention_backward_plain" },
}

-- {====== Choice ======

local function trouble(config, p) return require(config.template).trouble(config, p) end

local function named(p, sm)
  return given.named(op, "config", p.config, M.configs, function(config)
    return trouble(config, p) or sm > 0 and given.lack(config, sm)
  end, ("%s, D = %d, on %s"):format(p.dtype, p.depth, p.device))
end

local function choose(p)
  local sm = on_device.target(p.device).sm
  if p.config ~= nil then return named(p, sm) end
  for _, config in ipairs(M.configs) do
    if not trouble(config, p) and not given.lack(config, sm) then return config end
  end
end

-- {====== Kernels ======

local made = scores.new_cache()

local function steps_of(config, p)
  local template = require(config.template)
  local variant = template.variant(p, config)
  for key, value in pairs(config) do
    if variant[key] == nil then variant[key] = value end
  end
  variant.score = p.score and p.score.kind
  variant.dtype, variant.packed = p.dtype, p.sequences ~= nil
  variant.causal = p.causal and not p.score
  variant.deterministic = p.deterministic
  local text = ("%s %d %s %s %s %s %s %s %s %s %s %s %s"):format(p.dtype.name, variant.depth,
    variant.depth_v, variant.read_k, variant.read_v, variant.causal, variant.is_whole,
    variant.packed, p.deterministic, variant.fused, variant.tail, variant.stay,
    variant.score and variant.score.text)
  local kernels = scores.made(made, variant, config, text, template.make)
  local steps = template.plan(p, kernels, variant)
  if p.score and p.score.sinks then steps[#steps + 1] = sinks.step(p, steps[1]) end
  return steps
end

-- What to launch, in order, and the configuration.
local function plan(p)
  local steps = widen.is_for(p) and p.depth * p.batches > 0 and widen.steps(p) or {}
  local config = choose(p)
  if p.depth == 0 or p.batches == 0 then return steps, config end -- no gradient has an element
  scales.check_number(op, p.scale, "scale")
  local own = steps_of(config, p)
  return table.move(own, 1, #own, #steps + 1, steps), config
end

--- attention_backward(dO, Q, K, V, O, LSE[, options]) -> dQ, dK, dV[, dsinks]
function M.attention_backward(dO, Q, K, V, O, LSE, options)
  local p = problem.read_backward(op, dO, Q, K, V, O, LSE, options)
  launches.run((plan(p)))
  return table.unpack(p.results)
end

--- The same, to be launched again at least cost: a function without arguments, the name of the
--- configuration, the list of gradients, and what is launched, {kernel =, launch =, args =} each.
function M.prepare(dO, Q, K, V, O, LSE, options)
  local p = problem.read_backward(op, dO, Q, K, V, O, LSE, options)
  local steps, config = plan(p)
  return launches.prepare(steps), config.name, p.results, steps
end

return M
