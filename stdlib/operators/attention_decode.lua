-- attention_decode.lua: attention_decode(Q, K, V, options): attention of one or a few new queries
-- of each sequence to a cache of keys and values. attention_decode_problem.lua checks the
-- arguments; this file chooses a configuration and launches the kernels: what is appended, if
-- anything (attention_decode_append.lua), lists without their holes (attention_decode_holes.lua),
-- parts of the keys by the configuration's template, then what combines the parts
-- (attention_decode_merge.lua). A template is a module with
--   trouble(config, p)  why its kernel cannot compute the problem, or nil
--   shared_bytes(config, p)  if there: of a block
--   mapped(t)           if there: K, K_rope and scales of parts as its kernel takes them
--   shape(config)       keys of a unit of the schedule, and `step`, those that a block takes at a
--                       time; rows of a tile; warps of a block, and how many partial results they
--                       have `found` of a piece; `resident` blocks of a multiprocessor; `overhead`
--                       of a piece, in units; if there, the `least` units of a part; and what
--                       else the kernel depends on
--   make(variant)       the kernel; all templates' have the same parameters
-- A variant is a shape with what the problem adds to it: see the modules named above,
-- attention_decode_pages.lua and attention_decode_schedule.lua.
local append = require "cuttle.attention_decode_append"
local bits = require "cuttle.bits"
local given = require "cuttle.operator_config"
local holes = require "cuttle.attention_decode_holes"
local lists = require "cuttle.lists"
local merge = require "cuttle.attention_decode_merge"
local problem = require "cuttle.attention_decode_problem"
local schedule = require "cuttle.attention_decode_schedule"
local scores = require "cuttle.attention_score"
local tiles = require "cuttle.tiles"
local on_device = require "cuttle.operator_device"
local launches = require "cuttle.operator_steps"
local M = {}

local op <const> = "attention_decode"

local function fail(format, ...) tiles.fail(op, format, ...) end

-- What is tried in order; the last one computes everything. On the CPU engine only that one is, the
-- others where `config` says so. `sm_from` is the compute capability since which the instructions
-- are there; `warps` are of a block, `stages` tiles of keys in its or each warp's ring, `resident`
-- blocks that a multiprocessor is to have at a time, and `keys` those of a tile. For the row to be
-- tried, `from_rows` queries must share their keys, and rows have `from_depth` to `to_depth`
-- columns. A table as `config` may have `parts`: so many blocks of a multiprocessor share the keys.
local MMA <const>, LATENT <const> = "cuttle.attention_decode_mma", "cuttle.attention_decode_latent"
local LATENT_HOPPER <const> = "cuttle.attention_decode_latent_hopper"
M.configs = {
  { name = "mma 8 warps", template = MMA, sm_from = 80, warps = 8, stages = 3, resident = 1 },
  { name = "mma 6 warps", template = MMA, sm_from = 80, warps = 6, stages = 2, resident = 1,
    from_depth = 193 },
  { name = "mma 4 warps", template = MMA, sm_from = 80, warps = 4, stages = 3, resident = 1 },
  { name = "mma 4 warps, 2 stages", template = MMA, sm_from = 80, warps = 4, stages = 2,
    resident = 1 },
  { name = "mma 2 warps", template = MMA, sm_from = 80, warps = 2, stages = 2, resident = 1 },
  { name = "mma 8 bits, D 192", template = MMA, sm_from = 89, warps = 6, stages = 2, resident = 1,
    narrow = true, from_depth = 161, to_depth = 192 },
  { name = "mma 8 bits", template = MMA, sm_from = 89, warps = 8, stages = 3, resident = 1,
    narrow = true },
  { name = "mma 8 bits, 2 stages", template = MMA, sm_from = 89, warps = 8, stages = 2,
    resident = 1, narrow = true },
  { name = "mma 8 bits, 6 warps", template = MMA, sm_from = 89, warps = 6, stages = 2,
    resident = 1, narrow = true },
  { name = "mma 8 bits, 4 warps", template = MMA, sm_from = 89, warps = 4, stages = 3,
    resident = 1, narrow = true },
  { name = "mma 8 bits, 2 warps", template = MMA, sm_from = 89, warps = 2, stages = 3,
    resident = 1, narrow = true },
  { name = "latent hopper, pairs", template = LATENT_HOPPER, sm = 90, cluster = 2,
    from_rows = 17, slots = 3, held = 7, registers = { 184, 160 } },
  { name = "latent hopper", template = LATENT_HOPPER, sm = 90, cluster = 1,
    from_rows = 17, slots = 3, held = 7, registers = { 184, 160 } },
  { name = "latent hopper, rows", template = LATENT_HOPPER, sm = 90, cluster = 1,
    from_rows = 17, slots = 2, held = 4, registers = { 136, 160 }, loader = 56, share_before = 0 },
  { name = "latent hopper, 8 bits", template = LATENT_HOPPER, sm = 90, cluster = 1,
    from_rows = 17, slots = 2, held = 4, registers = { 136, 160 }, loader = 56, narrow = true },
  { name = "latent 64 keys", template = LATENT, sm_from = 80, keys = 64, stages = 2 },
  { name = "latent 32 keys", template = LATENT, sm_from = 80, keys = 32, stages = 2 },
  { name = "latent 8 bits", template = LATENT, sm_from = 89, keys = 64, stages = 3, narrow = true },
  { name = "plain", template = "cuttle.attention_decode_plain" },
}

-- {====== Choice ======

local function trouble(config, p) return require(config.template).trouble(config, p) end

local function target_of(p)
  local target = on_device.target(p.device)
  target.n_sms = target.n_sms or 2
  return target
end

-- Why the target lacks the row's instructions, or the memory for a block, or nil.
local function lack(config, p, target)
  local bytes_of = require(config.template).shared_bytes
  return given.lack_on(config, target, bytes_of and bytes_of(config, p) or 0)
end

local function named(p, target)
  return given.named(op, "config", p.config, M.configs, function(config)
    return trouble(config, p) or target.sm > 0 and lack(config, p, target)
  end, ("%s, K %s, D = %d, on %s"):format(p.dtype, p.kv_dtype, p.depth, p.device))
end

local function is_meant(config, p)
  local depth = math.max(p.depth, p.depth_v)
  return p.n_q * p.group >= (config.from_rows or 0) and depth >= (config.from_depth or 0)
    and depth <= (config.to_depth or depth)
end

local function choose(p, target)
  if p.config ~= nil then return named(p, target) end
  for _, config in ipairs(M.configs) do
    if is_meant(config, p) and not trouble(config, p) and not lack(config, p, target) then
      return config
    end
  end
end

local function check_bits(p)
  if p.bits ~= nil and p.bits ~= bits.INVARIANT then
    fail('bits is %s; expected "%s"', tostring(p.bits), bits.INVARIANT)
  end
end

-- {====== Kernels ======

-- What kernels depend on beside a configuration, as text.
local function text_of(v)
  local out = lists.map(lists.keys(v), function(name) return name .. " " .. tostring(v[name]) end)
  return table.concat(out, ", ")
end

local function variant_of(config, p)
  local v = { name = op .. "_" .. p.kv_dtype.name, dtype = p.dtype, kv_dtype = p.kv_dtype,
              depth = p.depth, depth_k = p.depth_k, depth_v = p.depth_v, k_groups = p.k_groups,
              v_groups = p.v_groups, rope = p.K_rope ~= nil, n_q = p.n_q, group = p.group,
              page_size = p.page_size, causal = p.causal and p.n_q > 1 and not p.score,
              tree = p.mask ~= nil, score = p.score and p.score.kind.text,
              scaled = p.scaled, by_token = p.by_token, lse = p.LSE ~= nil,
              invariant = p.bits ~= nil, n_new = p.n_new, kv_heads = p.kv_heads, lazy = p.lazy }
  v.text = text_of(v)
  for key, value in pairs(require(config.template).shape(config, p)) do v[key] = value end
  v.score = p.score and p.score.kind
  v.cluster = v.cluster or 1
  v.n_tiles = cdiv(p.n_q * p.group, v.rows)
  v.n_heads = p.kv_heads * v.n_tiles // v.cluster
  v.least = v.invariant and 1 or v.least or 2 * v.warps
  return v
end

local made = scores.new_cache()

local function kernel_of(config, template, v)
  return scores.made(made, v, config, template .. ": " .. v.text, require(template).make)
end

-- Partial results, and {maximum, sum} of each of their rows.
local function workspace(p, v, n_parts)
  local n = schedule.n_slots(v, p.batches, n_parts)
  local rows = merge.used_rows(v)
  return on_device.new(p.device, f32, { v.depth_v, rows, n }),
    on_device.new(p.device, f32, { 2, rows, n })
end

-- What to launch, in order.
local function steps_of(config, p, target)
  local v = variant_of(config, p)
  local n_parts = (config.parts or v.resident) * target.n_sms // v.cluster
  local parts, ml = workspace(p, v, n_parts)
  p.has_pdl = target.sm >= 90
  local steps, lse = {}, p.LSE
  local mapped = require(config.template).mapped
  local function own(t) return t and mapped and mapped(t) or t end
  if p.n_new > 0 then
    steps[1] = append.step(p, kernel_of(config, "cuttle.attention_decode_append", v))
  end
  if p.holes then steps[1] = holes.step(p) end
  steps[#steps + 1] = {
    kernel = kernel_of(config, config.template, v),
    launch = { grid = n_parts * v.cluster, block = 32 * v.warps, stream = p.stream,
               cluster = v.cluster > 1 and v.cluster or nil, pdl = p.has_pdl },
    args = table.pack(p.Q, own(p.K), p.V, p.O, lse, p.lengths, p.capacity,
      n_parts, parts, ml, p.table, p.k_groups and own(p.k_scale) or p.k_scale,
      p.v_scale, p.mask, own(p.K_rope),
      scores.factor(p), scores.operands(p)) }
  local combine = kernel_of(config, "cuttle.attention_decode_merge", v)
  steps[#steps + 1] = merge.step(p, combine, v, n_parts,
    table.pack(p.lengths, p.capacity, n_parts, parts, ml, p.O, lse, p.v_scale,
      scores.operands(p)))
  return steps
end

local function plan(p)
  check_bits(p)
  local target = target_of(p)
  local config = choose(p, target)
  if p.batches == 0 or p.heads == 0 or p.n_q == 0 or p.depth_v == 0 then return {}, config end
  return steps_of(config, p, target), config
end

--- attention_decode(Q, K, V[, options]) -> O[, LSE]
function M.attention_decode(Q, K, V, options)
  local p = problem.read(op, Q, K, V, options)
  launches.run((plan(p)))
  return p.out, p.lse
end

--- The same, to be launched again at least cost: a function without arguments, the name of the
--- configuration, the tensors O and LSE, and what is launched, {kernel =, launch =, args =} each.
function M.prepare(Q, K, V, options)
  local p = problem.read(op, Q, K, V, options)
  local steps, config = plan(p)
  return launches.prepare(steps), config.name, p.out, p.lse, steps
end

return M
