-- matmul_table.lua: matmul's choice by what `tune` found (operator_table.lua). A key is a problem
-- in its canonical form: "f16 TN 4096 4096 4096 1", that is M, N, K and batches. A row's
-- configuration names a row of matmul_configs.lua and says in how many parts K is:
-- name="mma 128x128x64" split=1.
local configs = require "cuttle.matmul_choice"
local devices = require "cuttle.profile_device"
local with = require "cuttle.lists".with
local scaling = require "cuttle.gemm_scales"
local spaces = require "cuttle.space"
local split = require "cuttle.gemm_split"
local tables = require "cuttle.operator_table"
local tiles = require "cuttle.tiles"
local M = {}

local SIMPLE <const> = "cuttle.gemm_simple"
local FARTHEST <const> = 3 -- 8 times as large in one number, or twice in three

-- Types that one configuration computes alike: without rows of its own, one has the other's.
local twins <const> = { f16 = "bf16", bf16 = "f16", i8 = "u8", u8 = "i8", f8e4m3 = "f8e5m2",
                        f8e5m2 = "f8e4m3" }
-- What tensor cores multiply as fast lies otherwise, as far as the model knows; and what the same
-- configurations of f32 are for.
local all_majors <const> = { "TN", "NT", "NN", "TT" }
local f32_majors <const> = { NN = { "TT" }, TT = { "NN" }, TN = {}, NT = {} }

--- The problem as it is on a device of the model: facts of the choice become that one's.
function M.on(p, name)
  local device = devices.find(name)
  if not device then
    tiles.fail("matmul", "device is '%s'; one of %s was expected", name, devices.names())
  end
  p.target, p.sm, p.n_sms = "cuda", device.sm, device.sms
  p.shared = devices.shared_block(device.sm)
  p.place = { name = device.name, sm = device.sm, n_sms = device.sms }
  return configs.facts(p)
end

local function key_of(p, type_name, majors)
  return ("%s %s %d %d %d %d"):format(type_name, majors, p.m, p.n, p.k, p.l)
end

--- The key of a problem.
function M.key(p)
  configs.facts(p)
  return key_of(p, p.type_name, p.majors)
end

-- Its key, then those of its alternatives.
local function keys_of(p)
  local list = {}
  for _, type_name in ipairs { p.type_name, twins[p.type_name] } do
    list[#list + 1] = key_of(p, type_name, p.majors)
    for _, majors in ipairs(p.type_name == "f32" and f32_majors[p.majors] or all_majors) do
      if majors ~= p.majors then list[#list + 1] = key_of(p, type_name, majors) end
    end
  end
  return list
end

-- What the first kernel of a problem in n parts of K computes.
local function part(p, n)
  if n == 1 then return p end
  return with(p, { k = p.k // n, l = n, beta = 0, bias = false, epilogue = false })
end

--- What the rule chooses, a row of matmul_configs.lua, and into how many parts it cuts K.
function M.rule(p)
  local is_whole = p.groups or p.nested or scaling.is_deep(p) or not (p.place and p.place.name)
  local n = is_whole and 1 or split.parts_on(p, p.sm, p.n_sms)
  return configs.choose(part(p, n)), n
end

local function class_of(config, n) return ("%s by %d"):format(config.name, n) end

-- {====== Rows ======

local by_text

local function config_of(text)
  if not by_text then
    by_text = {}
    for _, row in ipairs(configs.list) do
      local name = spaces.text { name = row.name }
      by_text[name] = by_text[name] or row
    end
  end
  return by_text[text]
end

local function numbers_of(key)
  local m, n, k, l = key:match "^%w+ [NT][NT] (%d+) (%d+) (%d+) (%d+)$"
  m, n, k, l = math.tointeger(m), math.tointeger(n), math.tointeger(k), math.tointeger(l)
  return m and n and k and l and { m = m, n = n, k = k, l = l } -- nil: one has too many digits
end

-- The configuration of a result, and the parts of K; nil: it names none.
local function named(row)
  local name, n = row.config:match "^(name=.+) split=(%d+)$"
  local config, parts = name and config_of(name), math.tointeger(n)
  if config and parts and parts > 0 then return config, parts end
end

-- Is it a result for a packed weight, of matmul_packed.lua?
local function is_packed(row)
  local key = row.key:gsub(" in %d+$", "") -- groups of rows
  return key:find "^%w+ %d+ %w+ %d+ %d+ %d+$" and (row.config:find '^name="packed .+"$'
    or row.config == 'name="dequantized"')
end

--- Why a row does not belong to this table; nil: it does.
function M.trouble(row)
  if is_packed(row) then return nil end
  if not numbers_of(row.key) then
    return ("'%s' does not describe a product; type, majors, M, N, K and batches were expected, as "
      .. "in 'f16 TN 4096 4096 4096 1'"):format(row.key)
  elseif not named(row) then
    return ("'%s' is not a configuration of matmul; a name of matmul_configs.lua and a split were "
      .. "expected, as in 'name=\"mma 128x128x64\" split=1'"):format(row.config)
  end
end

--- May the problem have the configuration in so many parts of K? Not one whose sums are of another
--- type: results do not decide how exact a product is.
function M.accepts(config, p, n)
  return config.sums == nil and p.k % n == 0 and (n == 1 or p.l == 1)
    and configs.accepts(config, part(p, n))
end

--- The configuration that a result names, and the parts of K; nil: there is none, or it is not for
--- the problem.
function M.read(row, p)
  local config, parts = named(row)
  if config and M.accepts(config, p, parts) then return config, parts end
end

--- The configurations for a problem, {name =, split =} each; that of the rule comes first.
function M.candidates(p)
  local rule, n = M.rule(p)
  local list = { { name = rule.name, split = n } }
  for _, parts in ipairs { n, 2 * n, n // 2 } do
    for _, row in ipairs(parts > 0 and (n > 1 or parts == 1) and configs.list or {}) do
      local is_first = row == rule and parts == n
      if not is_first and (row.template ~= SIMPLE or rule.template == SIMPLE)
        and M.accepts(row, p, parts) then
        list[#list + 1] = { name = row.name, split = parts }
      end
    end
  end
  return list
end

-- {====== Choice ======

local function query(p, class)
  return { name = "matmul", place = p.place, key = M.key(p), class = class,
    farthest = FARTHEST, alternatives = function() return keys_of(p) end,
    class_of = function(key)
      local numbers = numbers_of(key)
      return numbers and class_of(M.rule(with(p, numbers)))
    end,
    read = function(row)
      local config, parts = M.read(row, p)
      return config and { config = config, split = parts }
    end }
end

--- The choice by results, else by the rule: {config =, split =}, and the result, or nil. nil: there
--- is no table for the problem. Of the CPU engine, of texts that `cuttle emit` writes, of groups
--- and of scales there is none.
function M.choose(p)
  configs.facts(p)
  if p.target ~= "cuda" or not (p.place and p.place.name) or p.groups or p.nested
    or p.scales or p.k == 0 then
    return nil
  end
  local config, n = M.rule(p)
  local choice, row = tables.pick(query(p, class_of(config, n)))
  return choice or { config = config, split = n }, row
end

-- The explanation of a choice, which says so if no hardware has run the template.
local function explanation(config, n, p, row)
  local out = tables.explanation(config.name, M.key(p), row, p.place)
  out.split = n
  if require(config.template).never_ran then
    out.text = out.text .. "; no GPU has run this template yet"
  end
  return out
end

--- A result for the problem, as M.explain tells one.
function M.told(p, row)
  local config, parts = named(row)
  return explanation(config, parts, p, row)
end

-- Which matrices have modes with more than one stride, and how much of them is read at once.
local function text_of_nested(p)
  local words, others = {}, { A = "B", B = "A" }
  for _, name in ipairs { "A", "B", "C" } do
    local n = p.nested[p.swapped and others[name] or name]
    if n then words[#words + 1] = ("%s by %d"):format(name, n) end
  end
  return table.concat(words, ", ")
end

--- How matmul computes the problem: see operator_table.explanation; split: the parts of K.
function M.explain(p)
  local choice, row = M.choose(p)
  if not choice then
    local config, n = M.rule(p)
    choice = { config = config, split = n }
  end
  local out = explanation(choice.config, choice.split, p, row)
  if p.nested and not p.glu and not choice.config.boxes then
    out.text = ("gather: %s; %s"):format(text_of_nested(p), out.text)
  end
  return out
end

return M
