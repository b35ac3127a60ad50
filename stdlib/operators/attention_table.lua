-- attention_table.lua: attention's choice by what `tune` found (operator_table.lua). A key is a
-- problem: "bf16 d128 causal 4 32 4096 4096", that is batches, heads, queries and keys; d is the
-- depth of a head up to the next of `depths`, or "d192v128" the very depths where those of queries
-- and values differ. A row's configuration is name="mma 128x64".
-- A choice is what attention.lua knows of a problem where it runs:
--   configs, place          all configurations; the device, {name =, sm =, shared =}, or nil
--   rule(p)                 the configuration that its rule takes
--   accepts(config, p)      can it compute the problem there?
local devices = require "cuttle.profile_device"
local spaces = require "cuttle.space"
local tables = require "cuttle.operator_table"
local tiles = require "cuttle.tiles"
local M = {}

local PLAIN <const> = "cuttle.attention_plain"
local FARTHEST <const> = 8 -- in four numbers, of which two only say how full the GPU is
local depths <const> = { 64, 128, 256 }
local twins <const> = { f16 = "bf16", bf16 = "f16" }

--- The device of the model that is called so, as a place.
function M.place(name)
  local device = devices.find(name)
  if not device then
    tiles.fail("attention", "device is '%s'; one of %s was expected", name, devices.names())
  end
  return { name = device.name, sm = device.sm, n_sms = device.sms,
           shared = devices.shared_block(device.sm) }
end

local function depth_of(p)
  for _, depth in ipairs(depths) do
    if p.depth <= depth then return depth end
  end
  return p.depth
end

-- "d128", and "d192v128" where values have another depth.
local function depths_of(p)
  if p.depth_v == p.depth then return ("d%d"):format(depth_of(p)) end
  return ("d%dv%d"):format(p.depth, p.depth_v)
end

--- The key of a problem, or of the same one of another type.
function M.key(p, type_name)
  return ("%s %s %s %d %d %d %d"):format(type_name or p.dtype.name, depths_of(p),
    p.causal and "causal" or "full", p.batches, p.heads, p.n_q, p.n_k)
end

-- {====== Rows ======

local function by_text(configs, text)
  for _, config in ipairs(configs) do
    if spaces.text { name = config.name } == text then return config end
  end
end

--- Why a row does not belong to this table; nil: it does.
function M.trouble(row, configs)
  if not row.key:find "^%w+ d%d+v?%d* %l+ %d+ %d+ %d+ %d+$" then
    return ("'%s' does not describe an attention problem; type, depth, mask, batches, heads, "
      .. "queries and keys were expected, as in 'bf16 d128 causal 4 32 4096 4096'"):format(row.key)
  elseif not by_text(configs, row.config) then
    return ("'%s' is not a configuration of attention; a name of attention.lua was expected, as in "
      .. "'name=\"mma 128x64\"'"):format(row.config)
  end
end

--- The configurations for a problem, {name =} each; that of the rule comes first.
function M.candidates(p, choice)
  local rule = choice.rule(p)
  local list = { { name = rule.name } }
  for _, config in ipairs(choice.configs) do
    if config ~= rule and config.template ~= PLAIN and choice.accepts(config, p) then
      list[#list + 1] = { name = config.name }
    end
  end
  return list
end

-- {====== Choice ======

--- The configuration by results, and the result; nil: there is none. Of the CPU engine, of texts
--- that `cuttle emit` writes, of packed sequences, and of masks and scores there are none.
function M.choose(p, choice)
  local place = choice.place
  if not (place and place.name) or p.sequences or p.score then return nil end
  local class, other = choice.rule(p).name, twins[p.dtype.name]
  return tables.pick { name = "attention", place = place, key = M.key(p), class = class,
    alternatives = function() return { M.key(p), other and M.key(p, other) } end,
    class_of = function() return class end, farthest = FARTHEST,
    read = function(row)
      local config = by_text(choice.configs, row.config)
      return config and choice.accepts(config, p) and config
    end }
end

--- A result for the problem, as M.explain tells one.
function M.told(p, row, configs)
  return tables.explanation(by_text(configs, row.config).name, M.key(p), row, p.place)
end

--- How attention computes the problem: see operator_table.explanation.
function M.explain(p, choice)
  local config, row = M.choose(p, choice)
  return tables.explanation((config or choice.rule(p)).name, M.key(p), row, choice.place)
end

return M
