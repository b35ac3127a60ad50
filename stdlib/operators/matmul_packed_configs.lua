-- matmul_packed_configs.lua: configurations of products with packed weights (matmul_packed.lua):
-- for which problems those of gemm_packed.lua and gemm_packed_hopper.lua are, and which one is
-- taken where nobody wants another and no results of tune say more. A problem has the weight as A.
local few = require "cuttle.gemm_packed"
local formats = require "cuttle.packed_formats"
local on_device = require "cuttle.operator_device"
local reduce = require "cuttle.gemm_reduce"
local tiles = require "cuttle.tiles"
local tma = require "cuttle.tma_rules"
local M = { HOPPER = "cuttle.gemm_packed_hopper" }

-- Rows of A that gemm_packed.lua computes in time; more than FEWER are faster by wgmma if there are
-- blocks for all multiprocessors. More than MOST are faster by way of a matrix.
local FEWER <const>, FEW <const>, MOST <const> = 32, 64, 2048
-- Rows of 8 bits that are multiplied with sums scaled more often than all of so many of K.
local FEW_SPANS <const>, LEAST_SPAN <const> = 512, 64
local VECTOR <const> = 8 -- elements of 16 bytes of C
local HOPPER <const> = M.HOPPER
local ENOUGH <const> = 128 -- multiprocessors, where nobody knows how many there are

local function fail(format, ...) tiles.fail("matmul", format, ...) end

--- What is known of where a problem is: of the device of the model that it is for, or of its own.
function M.target_of(p) return p.on or on_device.target(p.device) end
local target_of <const> = M.target_of

local function is_narrow(dtype) return dtype.bits == 8 end

-- Why neither template computes the problem, or nil.
local function trouble(p)
  local sm, least = target_of(p).sm, p.dtype == f8e4m3 and 89 or 80
  if sm ~= 0 and sm < least then return ("products of %s need sm_%d"):format(p.dtype, least) end
  if p.l ~= 1 then return "there are batches" end
  if p.groups and p.groups.mode ~= "n" then return "groups are not of rows of A" end
  if p.nested and not p.rows and (p.nested.A or p.nested.B or not p.glu) then
    return "a mode has more than one stride"
  end
  local s = stride(p.B)
  if s[2] ~= 1 or s[1] * p.dtype.bytes % 16 ~= 0 and p.n > 1 or p.B.address % 16 ~= 0 then
    return "rows of A do not begin at multiples of 16 bytes"
  end
end

local C_MODES <const> = { "N", "M", "the batches" }

local function narrow_of(p, w) return (formats.formats[w.type].narrow or {})[p.dtype.name] end

-- Are numbers that have their scales, as parts of the largest, exact in A's type of 8 bits?
local function folds(p, w)
  local narrow = is_narrow(p.dtype) and narrow_of(p, w)
  return narrow and narrow.folded and w.spread <= narrow.powers or false
end

-- Elements of K whose products have one factor.
local function span_of(p, w) return folds(p, w) and formats.FOLDED or w.group end

-- Why numbers of the weight are no operand of A's type: those of 8 bits have to be exact, and
-- others are multiplied by their scales.
local function operand_trouble(p, w)
  if not is_narrow(p.dtype) then
    return w.scales.dtype ~= p.dtype and ("scales are %s, and A is %s"):format(w.scales.dtype,
      p.dtype) or nil
  end
  local narrow = narrow_of(p, w)
  if not narrow then
    return ("numbers of %s are not exact in %s"):format(w.type, p.dtype)
  elseif w.most_zero > (narrow.most_zero or 0) then
    return ("a zero point is %d, and numbers are exact in %s up to %d"):format(w.most_zero, p.dtype,
      narrow.most_zero)
  elseif w.group < formats.span(w.group) then
    return ("a group has %d elements"):format(w.group)
  end
end

-- Why fields that somebody wants are none of gemm_packed_hopper.lua for the problem, or nil.
local function row_trouble(p, row)
  if p.groups and row.k_blocks then return "blocks that share K take no groups" end
  if row.schedule and (row.schedule ~= "ping-pong" or row.groups ~= 2 or row.k_blocks
    or is_narrow(p.dtype)) then
    return 'a schedule is "ping-pong", of 2 groups, all of K and types of 16 bits'
  end
end

-- K as whole steps of a row: of 8 bits the last one may overhang, where TMA reads zeros.
local function whole_k(p, row)
  local step = require(HOPPER).step(p.dtype, row)
  return is_narrow(p.dtype) and not row.k_blocks and cdiv(p.k, step) * step or p.k
end

-- Why gemm_packed_hopper.lua does not compute such a problem, or nil.
local function hopper_trouble(p, w, row)
  row = row or {}
  local deep = (row.turn or row.k_blocks and 2 or 1) * (row.k_blocks or 1)
    * require(HOPPER).step(p.dtype, row)
  if whole_k(p, row) % deep ~= 0 then return ("K is not a multiple of %d"):format(deep) end
  local why = operand_trouble(p, w)
  if why then return why end
  if p.beta ~= 0 or reduce.has_reduced(p.named) then return "beta or an output is given" end
  why = row_trouble(p, row)
  if why then return why end
  if p.groups and p.c_dtype == f32 and not p.glu then return nil end -- threads store elements
  if p.c_dtype.bits ~= 16 then return ("C is %s, which is not of 16 bits"):format(p.c_dtype) end
  if p.glu and not p.groups then return "glu is for groups only" end
  local C = p.pairs_C or p.C
  if p.groups and size(C, 0) % VECTOR ~= 0 then
    return ("a row of C has %d elements, which are not whole 16 bytes"):format(size(C, 0))
  end
  return tma.trouble(tma.with_strides(C, 1), "C", C_MODES, 1, 2)
end

-- {====== Configurations ======

-- By tiles of 8 columns, from those with many rows of the weight on: strips of 16 rows of a block,
-- warps, stages, bits of a code by elements of a step, blocks of a multiprocessor; each is taken if
-- A has `most` rows or fewer, if that is absent those of the columns, and if blocks with so many
-- strips are `fills` times as many as there are multiprocessors. Measured on an H200 with u4 of
-- 4096x4096, 8192x8192 and 81920x8192.
local rows <const> = {
  { columns = 1, fills = 4, strips = 4, warps = 8, stages = 2, step_bits = 512, min_blocks = 2 },
  { columns = 1, fills = 0.9, strips = 2, warps = 8, stages = 3, step_bits = 512, min_blocks = 2 },
  { columns = 1, fills = 0, strips = 1, warps = 8, stages = 4, step_bits = 512, min_blocks = 2 },
  { columns = 2, fills = 0.9, strips = 4, warps = 8, stages = 3, step_bits = 256, min_blocks = 2 },
  { columns = 2, fills = 0, strips = 2, warps = 8, stages = 3, step_bits = 512, min_blocks = 1 },
  { columns = 4, fills = 0.9, strips = 4, warps = 8, stages = 3, step_bits = 256, min_blocks = 1 },
  { columns = 4, fills = 0, strips = 2, warps = 8, stages = 3, step_bits = 256, min_blocks = 1 },
  { columns = 4, fills = 0.4, strips = 4, warps = 8, stages = 3, step_bits = 256, min_blocks = 1,
    most = 64 },
  { columns = 8, fills = 0, strips = 2, warps = 8, stages = 2, step_bits = 256, min_blocks = 1 },
}
-- The same of groups, whose blocks have little of K: with few warps more of them wait for memory at
-- once. `least_k`: for a K of so much or more. Measured on an H200 with 4 bits and 128 experts of
-- 768, 32 of 2880.
local rows_of_groups <const> = {
  { columns = 1, fills = 16, strips = 4, warps = 1, stages = 3, step_bits = 512, min_blocks = 10 },
  { columns = 1, fills = 4, strips = 4, warps = 4, stages = 3, step_bits = 512, min_blocks = 4,
    least_k = 2560 },
  { columns = 1, fills = 4, strips = 4, warps = 1, stages = 3, step_bits = 512, min_blocks = 10 },
  { columns = 1, fills = 0, strips = 2, warps = 4, stages = 3, step_bits = 512, min_blocks = 5 },
  { columns = 2, fills = 4, strips = 4, warps = 1, stages = 3, step_bits = 256, min_blocks = 10,
    most = 20 },
  { columns = 2, fills = 0, strips = 4, warps = 4, stages = 3, step_bits = 256, min_blocks = 3,
    most = 20 },
  { columns = 4, fills = 0, strips = 4, warps = 1, stages = 3, step_bits = 256, min_blocks = 8,
    most = 64 },
}
local LEAST_STEP <const>, MOST_SHARED <const> = 64, 227 << 10 -- bytes of a block

local function n_sms_of(p)
  return p.on and p.on.n_sms or p.device ~= "cpu" and device().n_sms or ENOUGH
end

-- Rows of A that share a weight: of groups as many as a group has that is not empty and has more
-- than most; and how many such groups there are.
local function sharing(p)
  if not p.groups then return p.n, 1 end
  local n_groups = math.min(p.groups.n, p.n)
  local mean = p.n / n_groups
  return math.ceil(mean + math.min(mean, mean ^ 0.5) / 2), n_groups
end

local function few_of(p) return p.groups and rows_of_groups or rows end

local function row_of(p)
  local list, n_sms, n, n_groups = few_of(p), n_sms_of(p), sharing(p)
  for _, row in ipairs(list) do
    local n_blocks = cdiv(p.m, 16 * row.strips) * n_groups
    if n <= (row.most or 8 * row.columns) and n_blocks >= row.fills * n_sms
      and p.k >= (row.least_k or 0) then
      return row
    end
  end
  return list[#list]
end

-- Elements of K of a step, which divides K.
local function step_of(row, w)
  local step = math.max(row.step_bits // formats.formats[w.type].bits, LEAST_STEP)
  return w.shape[2] % step == 0 and step or LEAST_STEP
end

local made = {} -- configurations by their fields

--- The configuration, or one that is equal.
function M.kept(config)
  local words = {}
  for key, value in pairs(config) do
    local text = type(value) == "table" and table.concat(value, " ") or tostring(value)
    words[#words + 1] = key .. " " .. text
  end
  table.sort(words)
  local text = table.concat(words, ",")
  made[text] = made[text] or config
  return made[text]
end

-- What all configurations for a packed weight have.
local function common(p, w)
  return { format = w.type, rows_of_group = w.group, dtype_of_scales = w.scales.dtype,
           has_zeros = w.zeros ~= nil, pdl = target_of(p).sm >= 90 }
end

local function of_few(config, w, row)
  for _, key in ipairs { "columns", "strips", "warps", "stages", "min_blocks" } do
    config[key] = row[key]
  end
  config.template, config.step = "cuttle.gemm_packed", step_of(row, w)
end

-- Of gemm_packed_hopper.lua, the largest tiles first. The first is taken of which there are nearly
-- as many as multiprocessors, and whose columns are no more than A has rows, in steps of 64: TMA
-- also waits for rows that are not there. `most`: no more blocks for each multiprocessor: launches
-- that begin early would put two on some. With groups of less than `least_group` a block's memory
-- has no room for scales, or threads would spill registers. `lines` are for codes of 4 bits, of
-- which enough steps are on their way; with less than `least_rows` of A one line was faster.
-- Measured on an H200 with u4 of 4096x4096 and 8192x8192.
-- `of_group`: of groups, if each has so many rows or more; only_groups: not of single products.
-- `most_k`: groups multiply in turn where an epilogue follows little of K. `last`: with the columns
-- that a group's last tile may have, only if two tiles have room for all rows. `whole`: only if the
-- columns divide those that A has rows for, in steps of 64.
local many <const> = {
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 },
    of_group = 512 },
  { columns = 256, groups = 1, stages = 4, min_blocks = 1, of_group = 512 },
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 }, last = 64,
    only_groups = true, least_k = 2560 },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 },
    schedule = "ping-pong", depth = 4, only_groups = true, most_k = 1024 },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 }, lines = 2,
    least_group = 64, only_groups = true },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 },
    only_groups = true },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, k_blocks = 2, lines = 2,
    least_group = 64, least_rows = 112 },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, k_blocks = 2 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 1, most = 1, lines = 2, least_group = 64 },
  { columns = 128, groups = 1, stages = 8, min_blocks = 1, most = 1 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 2, registers = { 40, 208 }, whole = true },
  { columns = 128, groups = 1, stages = 4, min_blocks = 1, k_blocks = 2, lines = 2,
    least_group = 64 },
  { columns = 128, groups = 1, stages = 8, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 2, stages = 4, min_blocks = 1, k_blocks = 2, lines = 2,
    least_group = 64 },
  { columns = 64, groups = 2, stages = 8, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 1, stages = 8, min_blocks = 2 },
}
-- The same of 8 bits, whose sums are in two or three fragments. `rather`: only if so much of the
-- rounds that its tiles take is less than the rounds of the next row's. `only`: for activations of
-- that type. `column_tiles`: of blocks that share K. `glu`: whether pairs of rows become one: where
-- they do not, more is stored, which two small blocks of a multiprocessor hide from each other.
local narrow <const> = {
  { columns = 192, groups = 2, stages = 4, min_blocks = 1, registers = { 24, 240 }, parts = 3,
    least_group = 128, rather = 0.74, of_group = 512 },
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 24, 240 }, parts = 2,
    least_group = 128, only = "f8e4m3", of_group = 512 },
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 24, 240 }, parts = 4,
    least_group = 128, only = "i8", of_group = 512 },
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 24, 240 }, parts = 2,
    least_group = 128, only = "f8e4m3", only_groups = true, glu = true, least_k = 2560 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 2, registers = { 40, 208 },
    only_groups = true, glu = false },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 } },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 }, k_blocks = 2,
    column_tiles = 2 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 2, registers = { 40, 208 } },
  { columns = 128, groups = 1, stages = 4, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 2, stages = 6, min_blocks = 1, registers = { 40, 232 }, k_blocks = 2 },
  { columns = 64, groups = 1, stages = 6, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 1, stages = 6, min_blocks = 2 },
}
local ROWS <const>, FULL <const>, DEPTH_BITS <const> = 64, 0.9, 32 -- of codes in the ring
local WIDEST <const>, LINED_BITS <const> = 256, 4 -- columns; bits of codes with lines

local function many_of(p) return is_narrow(p.dtype) and narrow or many end

-- Can the row compute the problem, with columns that A has rows for? And are there nearly as many
-- blocks as multiprocessors? Blocks that share K are no more than these, with all rows of A in one
-- or, by `column_tiles`, in some.
local function is_for(row, p, w)
  if not p.groups and row.only_groups or p.groups and p.n < (row.of_group or 0) * p.groups.n
    or row.glu ~= nil and row.glu ~= (p.glu or false) then
    return false
  end
  local k_blocks, n_sms, n, n_groups = row.k_blocks or 1, n_sms_of(p), sharing(p)
  local blocks = cdiv(p.m, ROWS * row.groups) * cdiv(n, row.columns) * n_groups * k_blocks
  return row.columns <= cdiv(n, ROWS) * ROWS
    and (not row.whole or cdiv(n, ROWS) * ROWS % row.columns == 0)
    and (not row.last or n <= row.columns + row.last) and span_of(p, w) >= (row.least_group or 0)
    and p.k <= (row.most_k or math.huge) and p.k >= (row.least_k or 0)
    and (not row.only or row.only == p.dtype.name)
    and (not row.lines or formats.formats[w.type].bits == LINED_BITS)
    and n >= (row.least_rows or 0)
    and whole_k(p, row)
      % (require(HOPPER).step(p.dtype, row) * (k_blocks == 1 and 1 or 2 * k_blocks)) == 0
    and blocks <= (row.most or math.huge) * n_sms
    and (k_blocks == 1 or blocks <= n_sms and n <= row.columns * (row.column_tiles or 1)
      and not p.groups),
    blocks >= FULL * n_sms
end

-- Rounds in which all multiprocessors multiply the problem's tiles of a row.
local function rounds_of(row, p)
  local n, n_groups = sharing(p)
  return cdiv(cdiv(p.m, ROWS * row.groups) * cdiv(n, row.columns) * n_groups, n_sms_of(p))
end

local function is_full(row, p, w, next_row)
  local can, fills = is_for(row, p, w)
  return can and fills
    and (not row.rather or row.rather * rounds_of(row, p) < rounds_of(next_row, p))
end

-- What a configuration that somebody wants leaves out.
local plain <const> = { columns = 128, groups = 2, stages = 4, min_blocks = 1 }

-- The row, and whether its tiles are as many.
local function row_of_many(p, w)
  local list = many_of(p)
  for i, row in ipairs(list) do
    if is_full(row, p, w, list[i + 1]) then return row, true end
  end
  return list[#list], false
end

local function of_many(config, p, w, row)
  for key, value in pairs(row) do config[key] = value end
  for _, name in ipairs { "of_group", "only_groups", "glu", "least_k", "most_k", "whole" } do
    config[name] = nil
  end
  config.template, config.folds = HOPPER, folds(p, w) or nil
  config.depth = config.depth or DEPTH_BITS // formats.formats[config.format].bits
    * p.dtype.bits // 16 // (config.lines or 1)
end

-- As many steps of K in a turn of the loop as make all addresses constants, if K has these. With
-- the widest tile in parts threads would spill registers.
local function turn_of(config, p)
  local turn = math.max(config.depth, config.stages)
  local is_whole = turn % config.stages == 0 and turn % config.depth == 0
  return is_whole and not (config.parts and config.columns == WIDEST)
    and whole_k(p, config) % (turn * config.step * (config.k_blocks or 1)) == 0 and turn or nil
end

-- Fewer stages, then warps, until a block's shared memory has room for the rings.
local function fit_shared(config, p)
  local room = math.min(target_of(p).shared, MOST_SHARED)
  while few.shared_bytes(config, p.dtype) > room and config.warps > 1 do
    if config.stages > 2 then
      config.stages = config.stages - 1
    else
      config.warps = config.warps // 2
    end
  end
end

-- Which template: "few", "many" or nil, for that of a matrix of A's type.
local function template_of(p, w, wanted)
  local why = trouble(p)
  if wanted then
    why = why or wanted.groups and hopper_trouble(p, w, wanted)
    if why then fail("the configuration is not for this problem: %s", why) end
    return wanted.groups and "many" or "few"
  end
  if why then return nil end
  local n = sharing(p)
  local is_slow = is_narrow(p.dtype) and span_of(p, w) < LEAST_SPAN and n > FEW_SPANS
    and not p.groups
  local has_many = n > FEWER and not is_slow and (n <= MOST or p.groups or is_narrow(p.dtype))
    and target_of(p).sm == 90
    and not hopper_trouble(p, w)
  if has_many and (n > FEW or select(2, row_of_many(p, w))) then return "many" end
  return n <= FEW and "few" or nil
end

-- A configuration of that template, by a row of its list; `wanted` has fields that are set.
local function config_of(p, w, template, row, wanted)
  local config = common(p, w)
  local is_many = template == "many"
  if is_many then of_many(config, p, w, row) else of_few(config, w, row) end
  for key, value in pairs(wanted or {}) do config[key] = value end
  if is_many then
    config.step = require(HOPPER).step(p.dtype, config)
    config.turn = config.turn or turn_of(config, p)
    config.odd = not config.turn and whole_k(p, config) // config.step % 2 == 1 or nil
    config.overhangs = p.k % config.step ~= 0 or nil
  end
  if not is_many and not wanted then fit_shared(config, p) end
  local in_turns = config.schedule == "ping-pong"
  config.tile = { is_many and ROWS * (in_turns and 2 or config.groups) or 16 * config.strips,
                  is_many and config.columns or 8 * config.columns, config.step }
  config.name = ("packed%s %dx%dx%d, %s"):format(is_many and " hopper" or "", config.tile[1],
    config.tile[2], config.tile[3], w.type)
  if p.groups and not is_many then
    config.name = ("%s, warps %d"):format(config.name, config.warps)
  end
  if in_turns then config.name = config.name .. ", ping-pong" end
  if config.k_blocks then config.name = ("%s, K in %d"):format(config.name, config.k_blocks) end
  if config.most then config.name = ("%s, %d stages"):format(config.name, config.stages) end
  return M.kept(config)
end

-- {====== Choice ======

--- What the rule takes, or what somebody wants; nil: a matrix.
function M.rule(p, w, wanted)
  local template = template_of(p, w, wanted)
  if template == "few" then return config_of(p, w, template, row_of(p), wanted) end
  if not template then return nil end
  return config_of(p, w, template, wanted and plain or row_of_many(p, w), wanted)
end

--- All configurations for a problem.
function M.all(p, w)
  local list, sm = {}, target_of(p).sm
  if trouble(p) then return list end
  for _, row in ipairs(sharing(p) <= FEW and few_of(p) or {}) do
    list[#list + 1] = config_of(p, w, "few", row)
  end
  local has_many = (sm == 0 or sm == 90) and not hopper_trouble(p, w)
  for _, row in ipairs(has_many and many_of(p) or {}) do
    if is_for(row, p, w) then list[#list + 1] = config_of(p, w, "many", row) end
  end
  return list
end

return M
