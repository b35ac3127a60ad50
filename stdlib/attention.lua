-- attention.lua: attention(Q, K, V, options): O = softmax(scale Q K') V. attention_problem.lua
-- checks the arguments; this file chooses a configuration and launches the kernel that the
-- configuration's template makes. A template is a module with
--   can_compute(config, p)    is the kernel one for the problem?
--   make(variant)             the kernel
--   plan(p, kernel, variant)  {kernel =, launch =, args =} for the problem
-- A variant is a configuration with what the problem adds to it:
--   name, dtype, causal, lazy  the kernel's name; the rest as the problem has it
--   depth                      the configuration's, or else the problem's
--   is_whole                   that is the problem's
--   lse, packed                LSE is wanted; sequences are packed
local ct = require "cuttle"
local tiles = require "cuttle.tiles"
local problem = require "cuttle.attention_problem"
local M = {}

local function fail(format, ...) tiles.fail("attention", format, ...) end

-- What is tried in order; the last one computes everything. `sm`: the compute capability that the
-- instructions are of; without it the row is also for the CPU engine.
local HOPPER <const> = "cuttle.attention_hopper"
M.configs = {
  { name = "hopper 192x128", template = HOPPER, sm = 90, depth = 64, rows = 192, keys = 128,
    stages = 4, registers = { 32, 160 } },
  { name = "hopper 192x80", template = HOPPER, sm = 90, depth = 128, rows = 192, keys = 80,
    stages = 3, registers = { 32, 160 }, passes = true },
  { name = "hopper 128x128", template = HOPPER, sm = 90, depth = 128, rows = 128, keys = 128,
    stages = 2, registers = { 24, 240 } },
  { name = "plain", template = "cuttle.attention_plain" },
}

-- {====== Choice ======

-- The compute capability that kernels are made for, 0 on the CPU engine.
local function target_of(p)
  local emit_sm = ct._emit_sm()
  return emit_sm or (p.device ~= "cpu" and ct.device().sm) or 0
end

local function can_compute(config, p) return require(config.template).can_compute(config, p) end

-- Is the row meant for the problem where it is?
local function is_meant(config, p, sm)
  return (config.sm == nil or config.sm == sm) and can_compute(config, p)
end

local function by_name(name, p, sm)
  local names = {}
  for _, config in ipairs(M.configs) do
    if config.name == name then
      if not can_compute(config, p) or (sm > 0 and config.sm and config.sm ~= sm) then
        fail("configuration '%s' is not for this problem: %s, D = %d, on %s", name, p.dtype,
          p.depth, p.device)
      end
      return config
    end
    names[#names + 1] = "'" .. config.name .. "'"
  end
  fail("there is no configuration '%s'; there are %s", name, table.concat(names, ", "))
end

local function choose(p)
  local sm = target_of(p)
  if type(p.config) == "table" then return p.config end
  if p.config ~= nil then return by_name(tostring(p.config), p, sm) end
  for _, config in ipairs(M.configs) do
    if is_meant(config, p, sm) then return config end
  end
end

-- {====== Kernels ======

local kernels = {} -- by configuration, then by text

local function variant_of(config, p)
  local variant = { name = "attention_" .. p.dtype.name, dtype = p.dtype, depth = p.depth,
                    causal = p.causal, lazy = p.lazy, lse = p.lse ~= nil,
                    packed = p.sequences ~= nil, is_whole = config.depth == p.depth }
  for key, value in pairs(config) do
    if variant[key] == nil or key == "depth" then variant[key] = value end
  end
  return variant
end

local function kernel_of(variant, config)
  local by_text = kernels[config] or {}
  kernels[config] = by_text
  local text = table.concat({ variant.dtype.name, variant.depth, tostring(variant.causal),
    tostring(variant.lazy), tostring(variant.lse), tostring(variant.packed),
    tostring(variant.is_whole) }, " ")
  by_text[text] = by_text[text] or require(config.template).make(variant)
  return by_text[text]
end

-- What to launch, or nil where there is nothing to compute; and the configuration.
local function plan(p)
  local config = choose(p)
  if p.n_q == 0 or p.heads == 0 or p.batches == 0 or p.depth == 0 then return nil, config end
  if p.scale <= 0 then
    fail("scale is %s; expected a positive number", p.scale)
  end
  local variant = variant_of(config, p)
  return require(config.template).plan(p, kernel_of(variant, config), variant), config
end

local function check_types(p)
  if p.O.dtype.bits < p.dtype.bits and p.O.dtype ~= p.dtype then
    fail("out is %s but Q is %s; expected %s or a wider type", p.O.dtype, p.dtype, p.dtype)
  elseif p.dtype == ct.f64 then
    fail("the elements are f64, but sums are made in f32; reference.attention takes f64")
  elseif p.lse and p.lse.dtype ~= ct.f32 then
    fail("lse is %s; expected f32", p.lse.dtype)
  end
end

local function read_arguments(Q, K, V, options)
  local p = problem.read("attention", Q, K, V, options)
  check_types(p)
  return p
end

--- attention(Q, K, V[, options]) -> O[, LSE]
function M.attention(Q, K, V, options)
  local p = read_arguments(Q, K, V, options)
  local step = plan(p)
  if step then step.kernel(step.launch)(table.unpack(step.args)) end
  return p.out, p.lse
end

--- The same, to be launched again at least cost: a function without arguments, the name of the
--- configuration, the tensors O and LSE, and what is launched, {kernel =, launch =, args =}.
function M.prepare(Q, K, V, options)
  local p = read_arguments(Q, K, V, options)
  local step, config = plan(p)
  local launch = step and step.kernel:prepare(step.launch)(table.unpack(step.args))
    or function() end
  return launch, config.name, p.out, p.lse, step
end

return M
