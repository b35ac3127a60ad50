-- attention.lua: attention(Q, K, V, options): O = softmax(scale Q K') V. attention_problem.lua
-- checks the arguments; this file chooses a configuration and launches the kernel that the
-- configuration's template makes. A template is a module with
--   trouble(config, p)        why the kernel cannot compute the problem, or nil
--   make(variant)             the kernel
--   plan(p, kernel, variant)  {kernel =, launch =, args =} for the problem
--   heads_trouble(config, p)  the same by types, depth and keys alone
--   row_bytes                 if there: the bytes of a row of D elements are a multiple of these
--   order(config, p)          of its sums, as bits.lua describes an order
--   shared_bytes(config, p)   of a block, where configurations differ in where they fit
--   depth_of(config, p)       of queries and of values, as the kernel computes them; else the
--                             configuration's
-- A variant is a configuration with what the problem adds to it:
--   name, dtype, causal, lazy  the kernel's name; the rest as the problem has it
--   depth, depth_v             as the template says, the configuration's, or else the problem's
--   is_whole, is_whole_v       that is the problem's
--   lse, packed                LSE is wanted; sequences are packed
--   scaled                     operands have scales, of "heads" or "blocks"; nil: they have none
--   out                        the type of O
--   page_size                  of keys and values in pages (attention_pages.lua); nil: of none
--   score                      masks and scores, a kind of attention_score.lua, or nil; the kind
--                              has `causal`, which then is false
local attention_bits = require "cuttle.attention_bits"
local bits = require "cuttle.bits"
local given = require "cuttle.operator_config"
local with = require "cuttle.lists".with
local tiles = require "cuttle.tiles"
local problem = require "cuttle.attention_problem"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score"
local results = require "cuttle.operator_table"
local tables = require "cuttle.attention_table"
local on_device = require "cuttle.operator_device"
local M = {}

local function fail(format, ...) tiles.fail("attention", format, ...) end

-- What is tried in order where no result of tune says otherwise (attention_table.lua); the last one
-- computes everything. On the CPU engine only that one is, the others where `config` says so. Of
-- others:
--   sm, sm_from  the compute capability that the instructions are of, or since which they are there
--   resident     blocks of which a multiprocessor must have the memory for the row to be tried
--   full_only    not tried where causal
--   plain_only   not tried with masks and scores, which take more registers
--   up_to        the depth up to which it is tried, where the kernel can do more
--   small_pages  not tried where keys are in pages of multiples of so many: other rows' blocks come
--                in larger boxes
local HOPPER <const>, MMA <const> = "cuttle.attention_hopper", "cuttle.attention_mma"
local SM75 <const> = { f16 = "SM75_16x8x8_F32F16F16F32_TN" }
M.configs = {
  { name = "hopper 192x128", template = HOPPER, sm = 90, depth = 64, rows = 192, keys = 128,
    stages = 4, registers = { 32, 160 } },
  { name = "hopper 192x80", template = HOPPER, sm = 90, depth = 128, rows = 192, keys = 80,
    stages = 3, registers = { 32, 160 }, passes = true, small_pages = 32 },
  { name = "hopper 128x128", template = HOPPER, sm = 90, depth = 128, rows = 128, keys = 128,
    stages = 2, registers = { 24, 240 } },
  { name = "hopper 128x128, D 192", template = HOPPER, sm = 90, depth = 192, depth_v = 128,
    rows = 128, keys = 128, stages = 2, registers = { 24, 240 } },
  { name = "hopper 128x96", template = HOPPER, sm = 90, depth = 192, rows = 128, keys = 96,
    stages = 2, registers = { 24, 240 } },
  { name = "hopper 128x64", template = HOPPER, sm = 90, depth = 256, rows = 128, keys = 64,
    stages = 2, registers = { 24, 240 } },
  { name = "hopper 192x128, f8", template = HOPPER, sm = 90, depth = 64, rows = 192, keys = 128,
    stages = 4, registers = { 40, 152 }, narrow = true },
  { name = "hopper 192x96, f8", template = HOPPER, sm = 90, depth = 128, rows = 192, keys = 96,
    stages = 4, registers = { 56, 152 }, ring = "full", passes = true, narrow = true,
    plain_only = true },
  { name = "hopper 128x128, f8", template = HOPPER, sm = 90, depth = 128, rows = 128, keys = 128,
    stages = 3, registers = { 40, 232 }, narrow = true, ring = false },
  { name = "hopper 128x128, f8, D 192", template = HOPPER, sm = 90, depth = 192, depth_v = 128,
    rows = 128, keys = 128, stages = 3, raw_stages = 2, registers = { 40, 232 }, narrow = true,
    ring = false },
  { name = "hopper 128x128, f8, Dv 192", template = HOPPER, sm = 90, depth = 192, rows = 128,
    keys = 128, stages = 2, registers = { 40, 232 }, narrow = true, ring = false },
  { name = "hopper 128x96, f8", template = HOPPER, sm = 90, depth = 256, rows = 128, keys = 96,
    stages = 2, registers = { 40, 232 }, narrow = true, ring = false },
  { name = "hopper 128x128, f8, D 256", template = HOPPER, sm = 90, depth = 256, rows = 128,
    keys = 128, stages = 2, raw_stages = 1, registers = { 40, 232 }, narrow = true },
  { name = "mma 128x64", template = MMA, sm_from = 80, depth = 128, rows = 128, keys = 64,
    warps = 4, up_to = 64 },
  { name = "mma 128x48", template = MMA, sm_from = 80, depth = 128, rows = 128, keys = 48,
    warps = 4, resident = 2 },
  { name = "mma 128x32", template = MMA, sm_from = 80, depth = 128, rows = 128, keys = 32,
    warps = 4, resident = 2, full_only = true },
  { name = "mma 64x64", template = MMA, sm_from = 80, depth = 256, rows = 64, keys = 64,
    warps = 4 },
  { name = "sm75 128x64", template = MMA, sm_from = 75, depth = 64, rows = 128, keys = 64,
    warps = 4, atoms = SM75 },
  { name = "sm75 64x64", template = MMA, sm_from = 75, depth = 128, rows = 64, keys = 64,
    warps = 4, atoms = SM75 },
  { name = "plain", template = "cuttle.attention_plain" },
}

-- {====== Choice ======

-- What kernels are made for, see operator_device.lua; of a problem that has a place that one.
local function target_of(p)
  return p.place or on_device.target(p.device)
end

local function trouble(config, p) return require(config.template).trouble(config, p) end

local function order_of(config, p) return require(config.template).order(config, p) end

local function shared_bytes(config, p)
  local bytes_of = require(config.template).shared_bytes
  return bytes_of and bytes_of(config, p) or 0
end

-- Why the target lacks the row's instructions, or the memory for a block, or nil.
local function lack(config, p, target)
  return given.lack_on(config, target, shared_bytes(config, p))
end

-- Is the row meant for such heads where they are?
local function is_meant_for_heads(config, p, target)
  return not lack(config, p, target)
    and (config.resident or 1) * shared_bytes(config, p) <= target.shared
    and math.max(p.depth, p.depth_v) <= (config.up_to or math.huge)
end

-- Is the row meant for the problem where it is?
local function is_meant(config, p, target)
  return not trouble(config, p) and is_meant_for_heads(config, p, target)
    and not (config.full_only and (p.causal or p.score)) and not (config.plain_only and p.score)
    and not (config.small_pages and p.page_size and p.page_size % config.small_pages == 0)
end

local function is_aligned(depth, p, template)
  return depth * p.dtype.bits // 8 % (template.row_bytes or 1) == 0
end

-- The same whatever the queries, batches, heads, mask and strides are.
local function is_promised(config, p, target)
  local template = require(config.template)
  return not template.heads_trouble(config, p) and is_meant_for_heads(config, p, target)
    and not config.full_only and is_aligned(p.depth, p, template)
    and is_aligned(p.depth_v, p, template)
end

local function named(config, option, p, target)
  if bits.is_sum_order(config) then
    fail("a result of sum_order is not a configuration; expected a name, or a table like "
      .. "those of attention.lua")
  end
  return given.named("attention", option, config, M.configs, function(row)
    return trouble(row, p) or target.sm > 0 and lack(row, p, target)
  end, ("%s, D = %d, on %s"):format(p.dtype, p.depth, p.device))
end

local function first_of(is_wanted, p, target)
  for _, config in ipairs(M.configs) do
    if is_wanted(config, p, target) then return config end
  end
end

-- The configuration whose order of sums the bits are to have.
local function like_of(p, target)
  if p.bits == bits.INVARIANT then return first_of(is_promised, p, target) end
  return named(p.bits, "bits", p, target)
end

-- By a contract: the configuration that was asked for if its order is the right one, else `like`,
-- or what has its order.
local function choose_by_bits(p, target)
  attention_bits.check(p)
  local like = like_of(p, target)
  local contract = { bits = p.bits, order = order_of(like, p) }
  if p.config ~= nil then
    local config = named(p.config, "config", p, target)
    bits.check_order("attention", config, order_of(config, p), contract)
    return config
  end
  local function is_alike(config)
    return not trouble(config, p) and not lack(config, p, target)
      and bits.is_kept(order_of(config, p), contract)
  end
  local why = trouble(like, p)
  return not why and like or first_of(is_alike, p, target) or attention_bits.refuse(like, p, why)
end

-- What attention_table.lua asks of.
local function choice_at(target)
  return { configs = M.configs, place = target,
    rule = function(p) return first_of(is_meant, p, target) end,
    accepts = function(config, p)
      return not trouble(config, p) and not lack(config, p, target)
    end }
end

local function choose(p)
  local target = target_of(p)
  if p.bits ~= nil then return choose_by_bits(p, target) end
  if p.config ~= nil then return named(p.config, "config", p, target) end
  return tables.choose(p, choice_at(target)) or first_of(is_meant, p, target)
end

-- {====== Kernels ======

local kernels = scores.new_cache()

local function variant_of(config, p)
  local depth_of = require(config.template).depth_of
  local depth, depth_v = config.depth or p.depth, config.depth_v or config.depth or p.depth_v
  if depth_of then depth, depth_v = depth_of(config, p) end
  local variant = { name = "attention_" .. p.dtype.name, dtype = p.dtype, depth = depth,
                    causal = p.causal and not p.score, lazy = p.lazy, lse = p.lse ~= nil,
                    score = p.score and p.score.kind, packed = p.sequences ~= nil,
                    page_size = p.page_size,
                    scaled = p.scales and p.scales.kind, out = p.O.dtype,
                    is_whole = depth == p.depth, depth_v = depth_v,
                    is_whole_v = depth_v == p.depth_v }
  for key, value in pairs(config) do
    if variant[key] == nil then variant[key] = value end
  end
  return variant
end

local function kernel_of(variant, config)
  local text = table.concat({ variant.dtype.name, variant.depth, variant.depth_v,
    tostring(variant.causal), tostring(variant.lazy), tostring(variant.lse),
    tostring(variant.packed), tostring(variant.is_whole), tostring(variant.is_whole_v),
    tostring(variant.scaled), tostring(variant.page_size), variant.out.name,
    variant.score and variant.score.text }, " ")
  return scores.made(kernels, variant, config, text, require(config.template).make)
end

-- What to launch, or nil where there is nothing to compute; and the configuration.
local function plan(p)
  local config = choose(p)
  if p.n_q == 0 or p.heads == 0 or p.batches == 0 or p.depth == 0 then return nil, config end
  scales.check_number("attention", p.scale, "scale")
  local variant = variant_of(config, p)
  return require(config.template).plan(p, kernel_of(variant, config), variant), config
end

local function check_types(p)
  if p.O.dtype.bits < p.dtype.bits and p.O.dtype ~= p.dtype then
    fail("out is %s but Q is %s; expected %s or a wider type", p.O.dtype, p.dtype, p.dtype)
  elseif p.dtype == f64 then
    fail("the elements are f64, but sums are computed in f32; reference.attention accepts f64")
  elseif p.lse and p.lse.dtype ~= f32 then
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
  local own = tiles.own_operator("attention", Q, K, V)
  if own then return own(Q, K, V, options) end
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

-- {====== Results of tune ======

local own_names <const> = { device = '"A100"', file = '"mine.tune"' }
local set_names <const> = { "bits", "block_table", "config", "cu_seqlens_q", "cu_seqlens_k" }

-- See operator_search.lua.
local operator <const> = { name = "attention", key = tables.key }

function operator.candidates(p) return tables.candidates(p, choice_at(target_of(p))) end

function operator.problem(args, options, device)
  local p = read_arguments(args[1], args[2], args[3], with(options, { out = args[4] }))
  p.place = device and tables.place(device) or nil
  return p
end

function operator.prepared(args, options, config)
  return (M.prepare(args[1], args[2], args[3], with(options,
    { out = args[4], config = config.name })))
end

M.operator = operator

local function split_arguments(Q, K, V, options)
  local how, rest = results.options("attention", options, own_names)
  results.check_free("attention", rest, set_names)
  return { Q, K, V, read_arguments(Q, K, V, rest).out }, rest, how
end

--- explain(Q, K, V[, options]): what attention chooses, and why: docs/attention.md. options.device:
--- on which GPU of the model; nil: the one in use.
function M.explain(Q, K, V, options)
  local args, rest, how = split_arguments(Q, K, V, options)
  local p = operator.problem(args, rest, how.device)
  return tables.explain(p, choice_at(target_of(p)))
end

--- tune(Q, K, V[, options]): finds out what is best for such a problem, and keeps it:
--- docs/attention.md. Returns what it found, as explain does.
function M.tune(Q, K, V, options)
  local args, rest, how = split_arguments(Q, K, V, options)
  local row = require "cuttle.operator_search".tune(operator, args, rest, how)
  local device = not device().sm and row.device or nil
  return tables.told(operator.problem(args, rest, device), row, M.configs)
end

--- Takes the results of this file into account from now on.
function M.use(path)
  results.use("attention", path, function(row) return tables.trouble(row, M.configs) end)
end

return M
