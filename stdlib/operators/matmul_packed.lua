-- matmul_packed.lua: products of f16 or bf16 and packed weights (packed_weights.lua). Few rows are
-- multiplied by gemm_packed.lua, more on Hopper by gemm_packed_hopper.lua. Otherwise the weight
-- becomes a matrix of A's type, in memory that is freed after the product, and matmul multiplies.
local tiles = require "cuttle.tiles"
local few = require "cuttle.gemm_packed"
local formats = require "cuttle.packed_formats"
local launches = require "cuttle.operator_steps"
local tma = require "cuttle.tma_rules"
local on_device = require "cuttle.operator_device"
local problems = require "cuttle.matmul_problem"
local products = require "cuttle.matmul"
local scales = require "cuttle.matmul_scales"
local matrices = require "cuttle.packed_matrix"
local again = require "cuttle.matmul_again"
local M = {}

-- Rows of A that gemm_packed.lua computes in time; more than FEWER are faster by wgmma if there are
-- blocks for all multiprocessors. More than MOST are faster by way of a matrix.
local FEWER <const>, FEW <const>, MOST <const> = 32, 64, 1024
local HOPPER <const> = "cuttle.gemm_packed_hopper"
local DEEP <const> = 128 -- of which K is a multiple there
local ENOUGH <const> = 128 -- multiprocessors, where nobody knows how many there are

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- {====== The problem ======

-- A tensor of the weight's shape and A's type whose elements are one number in memory: for what
-- matmul checks.
local function stand_in(A, w)
  if w.stand_ins[A.dtype] == nil then
    local one = on_device.new(w.device, A.dtype, layout{ 1 })
    w.stand_ins[A.dtype] = view(one, layout(w.shape, { 0, 0 }))
  end
  return w.stand_ins[A.dtype]
end

local function check_operands(A, w)
  if tiles.type_name(A) ~= "tensor" then
    fail("A is of type %s; expected a tensor (M,K) as A, and a packed weight (N,K) as B",
      tiles.type_name(A))
  elseif A.dtype ~= f16 and A.dtype ~= bf16 then
    fail("A is %s, and B is a packed weight; expected an A of f16 or bf16", A.dtype)
  elseif A.device ~= w.device then
    fail("A is on %s, but the packed weight is on %s; expected both on one device", A.device,
      w.device)
  end
end

-- The problem with the weight as A: C is (N,M).
local function turned(p)
  if p.swapped then return p end
  local q = {}
  for key, value in pairs(p) do q[key] = value end
  q.A, q.B, q.C = p.B, p.A, select(p.C, 1, 0, 2)
  q.m, q.n, q.a_major, q.b_major, q.swapped = p.n, p.m, p.b_major, p.a_major, true
  q.scales = scales.swapped(p.scales)
  return q
end

-- Why neither template computes the problem, or nil.
local function trouble(p)
  local sm = on_device.target(p.device).sm
  if sm ~= 0 and sm < 80 then return "mma.sync of 16-bit floats needs sm_80" end
  if p.l ~= 1 then return "there are batches" end
  if p.nested and (p.nested.A or p.nested.B or not p.glu) then
    return "a mode has more than one stride"
  end
  local s = stride(p.B)
  if s[2] ~= 1 or s[1] % 8 ~= 0 and p.n > 1 or p.B.address % 16 ~= 0 then
    return "rows of A do not begin at multiples of 16 bytes"
  end
end

local C_MODES <const> = { "N", "M", "the batches" }

-- Why gemm_packed_hopper.lua does not compute such a problem, or nil.
local function hopper_trouble(p, w)
  if w.shape[2] % DEEP ~= 0 then return ("K is not a multiple of %d"):format(DEEP) end
  if w.scales.dtype ~= p.dtype then
    return ("scales are %s, and A is %s"):format(w.scales.dtype, p.dtype)
  end
  if p.c_dtype.bits ~= 16 then return ("C is %s, which is not of 16 bits"):format(p.c_dtype) end
  if p.beta ~= 0 or p.named or p.glu then return "beta, glu or named operands are given" end
  return tma.trouble(tma.with_strides(p.C, 1), "C", C_MODES, 1, 2)
end

-- {====== Configurations ======

-- By tiles of 8 columns, from those with many rows of the weight on: strips of 16 rows of a block,
-- warps, stages, bits of a code by elements of a step, blocks of a multiprocessor; each is taken if
-- blocks with so many strips are `fills` times as many as there are multiprocessors. Measured on an
-- H200 with u4 of 4096x4096, 8192x8192 and 81920x8192.
local rows <const> = {
  { columns = 1, fills = 4, strips = 4, warps = 8, stages = 2, step_bits = 512, min_blocks = 2 },
  { columns = 1, fills = 0.9, strips = 2, warps = 8, stages = 3, step_bits = 512, min_blocks = 2 },
  { columns = 1, fills = 0, strips = 1, warps = 8, stages = 4, step_bits = 512, min_blocks = 2 },
  { columns = 2, fills = 0.9, strips = 4, warps = 8, stages = 3, step_bits = 256, min_blocks = 2 },
  { columns = 2, fills = 0, strips = 2, warps = 8, stages = 3, step_bits = 512, min_blocks = 1 },
  { columns = 4, fills = 0.9, strips = 4, warps = 8, stages = 3, step_bits = 256, min_blocks = 1 },
  { columns = 4, fills = 0, strips = 2, warps = 8, stages = 3, step_bits = 256, min_blocks = 1 },
  { columns = 8, fills = 0, strips = 2, warps = 8, stages = 2, step_bits = 256, min_blocks = 1 },
}
local LEAST_STEP <const>, MOST_SHARED <const> = 64, 227 << 10 -- bytes of a block

local function n_sms_of(p) return p.device ~= "cpu" and device().n_sms or ENOUGH end

local function row_of(p)
  local n_sms = n_sms_of(p)
  for _, row in ipairs(rows) do
    local n_blocks = cdiv(p.m, 16 * row.strips)
    if p.n <= 8 * row.columns and n_blocks >= row.fills * n_sms then return row end
  end
  return rows[#rows]
end

-- Elements of K of a step, which divides K.
local function step_of(row, w)
  local step = math.max(row.step_bits // formats.formats[w.type].bits, LEAST_STEP)
  return w.shape[2] % step == 0 and step or LEAST_STEP
end

local made = {} -- configurations by their fields

-- What all configurations for a packed weight have.
local function common(p, w)
  return { format = w.type, rows_of_group = w.group, dtype_of_scales = w.scales.dtype,
           has_zeros = w.zeros ~= nil, pdl = on_device.target(p.device).sm >= 90 }
end

local function of_few(config, p, w)
  local row = row_of(p)
  for _, key in ipairs { "columns", "strips", "warps", "stages", "min_blocks" } do
    config[key] = row[key]
  end
  config.template, config.step = "cuttle.gemm_packed", step_of(row, w)
end

-- Of gemm_packed_hopper.lua, the largest tiles first. The first is taken of which there are nearly
-- as many as multiprocessors, and whose columns are no more than A has rows, in steps of 64: TMA
-- takes time for rows that are not there. Measured on an H200 with u4 of 4096x4096 and 8192x8192.
local many <const> = {
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 } },
  { columns = 256, groups = 1, stages = 4, min_blocks = 1 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 2, registers = { 40, 208 } },
  { columns = 64, groups = 1, stages = 6, min_blocks = 2 },
}
local ROWS <const>, FULL <const>, DEPTH_BITS <const> = 64, 0.9, 32 -- of codes in the ring

local function is_full(row, p)
  return row.columns <= cdiv(p.n, ROWS) * ROWS
    and cdiv(p.m, ROWS * row.groups) * cdiv(p.n, row.columns) >= FULL * n_sms_of(p)
end

-- What a configuration that somebody wants leaves out.
local plain <const> = { columns = 128, groups = 2, stages = 4, min_blocks = 1 }

local function of_many(config, p, wanted)
  local found = wanted and plain or many[#many]
  for i = #many, wanted and #many + 1 or 1, -1 do
    if is_full(many[i], p) then found = many[i] end
  end
  for key, value in pairs(found) do config[key] = value end
  config.template, config.step = HOPPER, ROWS
  config.depth = DEPTH_BITS // formats.formats[config.format].bits
end

-- Fewer stages, then warps, until a block's shared memory has room for the rings.
local function fit_shared(config, p)
  local room = math.min(on_device.target(p.device).shared, MOST_SHARED)
  while few.shared_bytes(config) > room and config.warps > 1 do
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
    why = why or wanted.groups and hopper_trouble(p, w)
    if why then fail("the configuration is not for this problem: %s", why) end
    return wanted.groups and "many" or "few"
  end
  if why then return nil end
  local has_many = p.n > FEWER and p.n <= MOST and on_device.target(p.device).sm == 90
    and not hopper_trouble(p, w)
  if has_many and (p.n > FEW or is_full(many[#many], p)) then return "many" end
  return p.n <= FEW and "few" or nil
end

-- A configuration of that template; `wanted` has fields that are set.
local function config_of(p, w, wanted, template)
  local config = common(p, w)
  local is_many = template == "many"
  if is_many then of_many(config, p, wanted) else of_few(config, p, w) end
  for key, value in pairs(wanted or {}) do config[key] = value end
  if not is_many and not wanted then fit_shared(config, p) end
  config.tile = { is_many and 64 * config.groups or 16 * config.strips,
                  is_many and config.columns or 8 * config.columns, config.step }
  config.name = ("packed%s %dx%dx%d, %s"):format(is_many and " hopper" or "", config.tile[1],
    config.tile[2], config.tile[3], w.type)
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

-- {====== Plans ======

-- The product by way of a matrix of A's type, and the matrix.
local function by_matrix(A, w, C, options)
  local matrix = on_device.new(A.device, A.dtype, row_major(w.shape))
  local _, name, steps = products.prepare(A, matrix, C, options)
  table.insert(steps, 1, matrices.step(w, matrix, options.stream))
  return steps, "dequantized, " .. name, matrix
end

-- The options, and a configuration of gemm_packed.lua among them.
local function split_options(options)
  if type(options) ~= "table" or type(options.config) ~= "table" then return options, nil end
  local rest = {}
  for key, value in pairs(options) do rest[key] = key ~= "config" and value or nil end
  return rest, options.config
end

-- C, the options, and a configuration of gemm_packed.lua among them or nil.
local function operands(A, w, C, options)
  check_operands(A, w)
  if C ~= nil and tiles.type_name(C) ~= "tensor" and options == nil then C, options = nil, C end
  local rest, wanted = split_options(options)
  local out, opts = problems.operands(A, stand_in(A, w), C, rest)
  return out, opts, wanted
end

-- The steps, what computes, and memory that only they need, or nil.
local function plans(A, w, out, opts, wanted)
  local p = problems.problem(A, stand_in(A, w), out, opts)
  if p.m == 0 or p.n == 0 then return {}, "none" end
  local q = turned(p)
  local template = template_of(q, w, wanted)
  if not template or opts.bits ~= nil or opts.split ~= nil or opts.config ~= nil then
    return by_matrix(A, w, out, opts)
  end
  q.packed = w
  local config, steps, ordered = config_of(q, w, wanted, template), {}, nil
  if config.template == HOPPER then
    ordered = on_device.new(A.device, A.dtype, row_major{ q.n, q.k })
    steps[1], q.ordered = require(HOPPER).order(q.B(_, _, 0), ordered, opts.stream), ordered
  end
  local step = products.step(q, config, opts.stream)
  steps[#steps + 1] = step
  table.move(step.after or {}, 1, #(step.after or {}), #steps + 1, steps)
  return steps, config.name, ordered
end

-- Multiplies, and keeps at `place` what it found, unless that is nil: a step, or two with memory
-- between them.
local function multiply(A, w, out, opts, wanted, place)
  local steps, _, extra = plans(A, w, out, opts, wanted)
  launches.run(steps)
  if place and #steps == (extra and 2 or 1) then again.keep(place, steps, extra) end
  if extra and w.device ~= "cpu" then extra:close() end -- there, launches may still wait to run
end

--- matmul(A, packed[, C][, options]) -> C
function M.matmul(A, w, C, options)
  local out, opts, wanted = operands(A, w, C, options)
  local known, place
  if not wanted then
    known, place = again.find(A, stand_in(A, w), out, opts, nil, w.again)
  end
  if known then
    again.run(known, A, stand_in(A, w), out)
  else
    multiply(A, w, out, opts, wanted, place)
  end
  return out
end

--- As matmul's prepare.
function M.prepare(A, w, C, options)
  local steps, name = plans(A, w, operands(A, w, C, options))
  return launches.prepare(steps), name, steps
end

return M
