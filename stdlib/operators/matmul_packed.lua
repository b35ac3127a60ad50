-- matmul_packed.lua: products of f16, bf16, f8e4m3 or i8 and packed weights (packed_weights.lua).
-- Few rows are multiplied by gemm_packed.lua, more on Hopper by gemm_packed_hopper.lua. Otherwise
-- the weight becomes a matrix of A's type, in memory that is freed after the product, and matmul
-- multiplies. An A of 8 bits becomes one of 16 bits before.
local memo = require "cuttle.memo"
local tiles = require "cuttle.tiles"
local few = require "cuttle.gemm_packed"
local formats = require "cuttle.packed_formats"
local grouping = require "cuttle.gemm_groups"
local reduce = require "cuttle.gemm_reduce"
local of_blocks = require "cuttle.gemm_scales"
local launches = require "cuttle.operator_steps"
local tma = require "cuttle.tma_rules"
local on_device = require "cuttle.operator_device"
local problems = require "cuttle.matmul_problem"
local products = require "cuttle.matmul"
local results = require "cuttle.operator_table"
local scales = require "cuttle.matmul_scales"
local matrices = require "cuttle.packed_matrix"
local again = require "cuttle.matmul_again"
local tables = require "cuttle.matmul_table"
local M = {}

-- Rows of A that gemm_packed.lua computes in time; more than FEWER are faster by wgmma if there are
-- blocks for all multiprocessors. More than MOST are faster by way of a matrix.
local FEWER <const>, FEW <const>, MOST <const> = 32, 64, 1024
-- Rows of 8 bits that are multiplied with sums scaled more often than all of so many of K.
local FEW_SPANS <const>, LEAST_SPAN <const> = 512, 64
local VECTOR <const> = 8 -- elements of 16 bytes of C
local HOPPER <const> = "cuttle.gemm_packed_hopper"
local ENOUGH <const> = 128 -- multiprocessors, where nobody knows how many there are

local known_types <const> = { f16 = true, bf16 = true, f8e4m3 = true, i8 = true }

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- A copy of a table with another value of one field.
local function with(t, field, value)
  local new = {}
  for key, x in pairs(t) do new[key] = x end
  new[field] = value
  return new
end

-- {====== The problem ======

-- A tensor of the weight's shape and A's type whose elements are one number in memory: for what
-- matmul checks.
local function stand_in(A, w)
  if w.stand_ins[A.dtype] == nil then
    local one = on_device.new(w.device, A.dtype, layout{ 1 })
    w.stand_ins[A.dtype] = view(one, layout(w.shape, w.shape[3] and { 0, 0, 0 } or { 0, 0 }))
  end
  return w.stand_ins[A.dtype]
end

local function check_operands(A, w)
  if tiles.type_name(A) ~= "tensor" then
    fail("A is of type %s; expected a tensor (M,K) as A, and a packed weight (N,K) as B",
      tiles.type_name(A))
  elseif not known_types[A.dtype.name] then
    fail("A is %s, and B is a packed weight; expected an A of f16, bf16, f8e4m3 or i8", A.dtype)
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
  q.groups = p.groups and grouping.swapped(p.groups)
  q.nested = p.nested and { A = p.nested.B, B = p.nested.A, C = p.nested.C }
  q.scales = scales.swapped(p.scales)
  return q
end

-- The problem, with the weight as A.
local function problem(A, w, C, opts)
  local p = problems.problem(A, stand_in(A, w), C, opts)
  if not p.c_dtype.is_float then
    fail("C is %s, and B is a packed weight; give a C of a float type", p.c_dtype)
  elseif of_blocks.is_deep(p) then
    fail("a scale is of blocks of %d of K, and B is a packed weight, whose groups have scales of "
      .. "their own; scale by rows", of_blocks.block_of(p))
  end
  return turned(p)
end

-- What is known of where a problem is: of the device of the model that it is for, or of its own.
local function target_of(p) return p.on or on_device.target(p.device) end

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

-- Why numbers of the weight are no operand of A's type: those of 8 bits have to be exact, and
-- others are multiplied by their scales.
local function operand_trouble(p, w)
  if not is_narrow(p.dtype) then
    return w.scales.dtype ~= p.dtype and ("scales are %s, and A is %s"):format(w.scales.dtype,
      p.dtype) or nil
  end
  local narrow = (formats.formats[w.type].narrow or {})[p.dtype.name]
  if not narrow then
    return ("numbers of %s are not exact in %s"):format(w.type, p.dtype)
  elseif w.most_zero > (narrow.most_zero or 0) then
    return ("a zero point is %d, and numbers are exact in %s up to %d"):format(w.most_zero, p.dtype,
      narrow.most_zero)
  elseif w.group < formats.span(w.group) then
    return ("a group has %d elements"):format(w.group)
  end
end

-- Why gemm_packed_hopper.lua does not compute such a problem, or nil.
local function hopper_trouble(p, w, row)
  local deep = (row and row.turn or row and row.k_blocks and 2 or 1) * require(HOPPER).step(p.dtype)
    * (row and row.k_blocks or 1)
  if w.shape[2] % deep ~= 0 then return ("K is not a multiple of %d"):format(deep) end
  local why = operand_trouble(p, w)
  if why then return why end
  if p.beta ~= 0 or reduce.has_reduced(p.named) then return "beta or an output is given" end
  if p.groups and row and row.k_blocks then return "blocks that share K take no groups" end
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

local function row_of(p)
  local n_sms, n, n_groups = n_sms_of(p), sharing(p)
  for _, row in ipairs(rows) do
    local n_blocks = cdiv(p.m, 16 * row.strips) * n_groups
    if n <= (row.most or 8 * row.columns) and n_blocks >= row.fills * n_sms then return row end
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
-- takes time for rows that are not there. `most`: no more blocks for each multiprocessor: launches
-- that begin early would put two on some. Measured on an H200 with u4 of 4096x4096 and 8192x8192.
local many <const> = {
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 40, 232 } },
  { columns = 256, groups = 1, stages = 4, min_blocks = 1 },
  { columns = 128, groups = 2, stages = 4, min_blocks = 1, k_blocks = 2 },
  { columns = 128, groups = 1, stages = 8, min_blocks = 1, most = 1 },
  { columns = 128, groups = 1, stages = 4, min_blocks = 2, registers = { 40, 208 } },
  { columns = 128, groups = 1, stages = 8, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 2, stages = 8, min_blocks = 1, k_blocks = 2 },
  { columns = 64, groups = 1, stages = 8, min_blocks = 2 },
}
-- The same of 8 bits, whose sums are in two or three fragments. With groups of less than
-- `least_group` threads would spill registers.
local narrow <const> = {
  { columns = 256, groups = 2, stages = 4, min_blocks = 1, registers = { 24, 240 }, parts = 4,
    least_group = 128 },
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

local function many_of(p) return is_narrow(p.dtype) and narrow or many end

-- Can the row compute the problem, with columns that A has rows for? And are there nearly as many
-- blocks as multiprocessors? Blocks that share K are no more than these, with all rows of A in one
-- or, by `column_tiles`, in some.
local function is_for(row, p, w)
  local k_blocks, n_sms, n, n_groups = row.k_blocks or 1, n_sms_of(p), sharing(p)
  local blocks = cdiv(p.m, ROWS * row.groups) * cdiv(n, row.columns) * n_groups * k_blocks
  return row.columns <= cdiv(n, ROWS) * ROWS and w.group >= (row.least_group or 0)
    and (k_blocks == 1 or p.k % (2 * require(HOPPER).step(p.dtype) * k_blocks) == 0)
    and blocks <= (row.most or math.huge) * n_sms
    and (k_blocks == 1 or blocks <= n_sms and n <= row.columns * (row.column_tiles or 1)
      and not p.groups),
    blocks >= FULL * n_sms
end

local function is_full(row, p, w)
  local can, fills = is_for(row, p, w)
  return can and fills
end

-- What a configuration that somebody wants leaves out.
local plain <const> = { columns = 128, groups = 2, stages = 4, min_blocks = 1 }

-- The row, and whether its tiles are as many.
local function row_of_many(p, w)
  local list = many_of(p)
  for _, row in ipairs(list) do
    if is_full(row, p, w) then return row, true end
  end
  return list[#list], false
end

local function of_many(config, p, row)
  for key, value in pairs(row) do config[key] = value end
  config.template, config.step = HOPPER, require(HOPPER).step(p.dtype)
  config.depth = DEPTH_BITS // formats.formats[config.format].bits * p.dtype.bits // 16
end

-- As many steps of K in a turn of the loop as make all addresses constants, if K has these. With
-- parts threads would spill registers.
local function turn_of(config, p)
  local turn = math.max(config.depth, config.stages)
  local is_whole = turn % config.stages == 0 and turn % config.depth == 0
  return is_whole and not config.parts
    and p.k % (turn * config.step * (config.k_blocks or 1)) == 0 and turn or nil
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
  local is_slow = is_narrow(p.dtype) and w.group < LEAST_SPAN and n > FEW_SPANS and not p.groups
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
  if is_many then of_many(config, p, row) else of_few(config, w, row) end
  for key, value in pairs(wanted or {}) do config[key] = value end
  if is_many then
    config.turn = config.turn or turn_of(config, p)
    config.odd = not config.turn and p.k // config.step % 2 == 1 or nil
  end
  if not is_many and not wanted then fit_shared(config, p) end
  config.tile = { is_many and 64 * config.groups or 16 * config.strips,
                  is_many and config.columns or 8 * config.columns, config.step }
  config.name = ("packed%s %dx%dx%d, %s"):format(is_many and " hopper" or "", config.tile[1],
    config.tile[2], config.tile[3], w.type)
  if config.k_blocks then config.name = ("%s, K in %d"):format(config.name, config.k_blocks) end
  if config.most then config.name = ("%s, %d stages"):format(config.name, config.stages) end
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

-- {====== Choice ======

local MATRIX <const> = "dequantized" -- the name of what is no configuration of these
local FARTHEST <const> = 3 -- as of matmul_table.lua
local twins <const> = { f16 = "bf16", bf16 = "f16" }

local function name_of(config) return config and config.name or MATRIX end

-- What the rule takes, or what somebody wants; nil: a matrix.
local function rule(p, w, wanted)
  local template = template_of(p, w, wanted)
  if template == "few" then return config_of(p, w, template, row_of(p), wanted) end
  if not template then return nil end
  return config_of(p, w, template, wanted and plain or row_of_many(p, w), wanted)
end

-- All configurations for a problem.
local function configs_of(p, w)
  local list, sm = {}, target_of(p).sm
  if trouble(p) then return list end
  for _, row in ipairs(p.n <= FEW and rows or {}) do
    list[#list + 1] = config_of(p, w, "few", row)
  end
  local has_many = (sm == 0 or sm == 90) and not hopper_trouble(p, w)
  for _, row in ipairs(has_many and many_of(p) or {}) do
    if is_for(row, p, w) then list[#list + 1] = config_of(p, w, "many", row) end
  end
  return list
end

-- {config =} of that name, where nil is a matrix; nil: there is none.
local function named(p, w, name)
  if name == MATRIX then return {} end
  for _, config in ipairs(configs_of(p, w)) do
    if config.name == name then return { config = config } end
  end
end

local function by_name(p, w, name)
  local found = named(p, w, name)
  if found then return found end
  local names = { ("'%s'"):format(MATRIX) }
  for _, config in ipairs(configs_of(p, w)) do names[#names + 1] = "'" .. config.name .. "'" end
  fail("there is no configuration '%s'; for this problem there are %s", name,
    table.concat(names, ", "))
end

-- "u4 128 bf16 16 4096 4096": the weight's type and group, A's type, M, N and K; and of how many
-- groups of rows.
local function key_of(p, w, dtype)
  return ("%s %d %s %d %d %d%s"):format(w.type, w.group, dtype or p.dtype.name, p.n, p.m,
    w.shape[2], p.groups and " in " .. p.groups.n or "")
end

-- The name of what the rule takes for a problem that has this key.
local function class_of(p, w, key)
  local group, n, m, k = key:match "^%w+ (%d+) %w+ (%d+) (%d+) (%d+)$"
  group, n, m, k = math.tointeger(group), math.tointeger(n), math.tointeger(m), math.tointeger(k)
  if not (group and n and m and k) then return nil end
  return name_of(rule(setmetatable({ n = n, m = m, k = k }, { __index = p }),
    setmetatable({ group = group, shape = { m, k } }, { __index = w })))
end

-- {config =, row =}: by a name, by results of tune, or by the rule. Without a config: by a matrix.
local function choose(p, w, opts, wanted)
  if opts.bits ~= nil or opts.split ~= nil then return {} end
  local name = opts.config
  if name == MATRIX or type(name) == "string" and name:find "^packed " then
    return by_name(p, w, name)
  elseif name ~= nil then
    return {} -- a configuration of the matrix
  end
  local of_rule, place = rule(p, w, wanted), target_of(p)
  if wanted or not place.name then return { config = of_rule } end
  local found, row = results.pick{ name = "matmul", place = place, key = key_of(p, w),
    farthest = FARTHEST, class = name_of(of_rule),
    alternatives = function() return { key_of(p, w), key_of(p, w, twins[p.dtype.name]) } end,
    class_of = function(key) return class_of(p, w, key) end,
    read = function(result) return named(p, w, result.config:match '^name="(.+)"$') end }
  return { config = found and found.config or not found and of_rule or nil, row = row }
end

-- {====== Plans ======

local plans

local widener = memo.by_arguments(function(dtype)
  return row_kernel("widen_" .. dtype.name, function(_, x) return x end, { types = { dtype } })
end)

-- The product with A as one of 16 bits: as plans.
local function by_wide(A, w, C, options)
  local dtype = w.scales.dtype == f16 and f16 or bf16
  local batched = rank(A) == 3
  local wide = on_device.new(A.device, dtype,
    layout{ size(A, 1), size(A, 0), batched and size(A, 2) or nil })
  wide = batched and select(wide, 1, 0, 2) or select(wide, 1, 0)
  local function rows_of(x) return batched and select(x, 0, 2, 1) or x end
  local steps = widener(dtype):steps(rows_of(A), { out = rows_of(wide), stream = options.stream })
  local rest, name, extras = plans(wide, w, C, options)
  extras[#extras + 1] = wide
  return table.move(rest, 1, #rest, #steps + 1, steps), name, extras
end

-- The product by way of a matrix of A's type, and the matrix.
local function by_matrix(A, w, C, options)
  local matrix = on_device.new(A.device, A.dtype, matrices.layout(w.shape))
  local _, name, steps = products.prepare(A, matrix, C,
    options.config == MATRIX and with(options, "config", nil) or options)
  table.insert(steps, 1, matrices.step(w, matrix, options.stream))
  return steps, ("%s, %s"):format(MATRIX, name), { matrix }
end

-- The options, and a configuration of gemm_packed.lua among them.
local function split_options(options)
  if type(options) ~= "table" or type(options.config) ~= "table" then return options, nil end
  return with(options, "config", nil), options.config
end

-- C, the options, and a configuration of gemm_packed.lua among them or nil.
local function operands(A, w, C, options)
  check_operands(A, w)
  if C ~= nil and tiles.type_name(C) ~= "tensor" and options == nil then C, options = nil, C end
  local rest, wanted = split_options(options)
  local out, opts = problems.operands(A, stand_in(A, w), C, rest)
  return out, opts, wanted
end

-- The steps, what computes, and a list of memory that only they need.
function plans(A, w, out, opts, wanted)
  local q, steps = problem(A, w, out, opts), {}
  if q.m == 0 or q.n == 0 then return {}, "none", {} end
  local config = choose(q, w, opts, wanted).config
  if not config then return (is_narrow(A.dtype) and by_wide or by_matrix)(A, w, out, opts) end
  q.packed = w
  if config.template == HOPPER then
    q.ordered = on_device.new(A.device, A.dtype, row_major{ q.n, q.k })
    steps[1] = require(HOPPER).order(q.B(_, _, 0), q.ordered, opts.stream, q.rows and q.rows.gather)
    if q.rows then q.rows, q.nested = with(q.rows, "gather", nil), with(q.nested, "B", nil) end
  end
  local step = products.step(q, config, opts.stream)
  steps[#steps + 1] = step
  table.move(step.after or {}, 1, #(step.after or {}), #steps + 1, steps)
  return steps, config.name, { q.ordered }
end

-- Multiplies, and keeps at `place` what it found, unless that is nil: a step, or two with memory
-- between them.
local function multiply(A, w, out, opts, wanted, place)
  local steps, _, extras = plans(A, w, out, opts, wanted)
  launches.run(steps)
  if place and #extras < 2 and #steps == 1 + #extras then again.keep(place, steps, extras[1]) end
  if w.device == "cpu" then return end -- launches may still wait to run
  for _, extra in ipairs(extras) do extra:close() end
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

-- {====== Results of tune ======

-- The problem with the weight as A; device: one of the model's, or nil.
local function problem_of(A, w, C, opts, device)
  local p = problem(A, w, C, opts)
  if device then
    tables.on(p, device)
    p.on = { sm = p.sm, n_sms = p.n_sms, shared = p.shared, name = p.place.name }
  end
  return p
end

-- How it was chosen: by way of a matrix as that product is.
local function told(A, w, C, opts, choice, device)
  local p = problem_of(A, w, C, opts, device)
  local out = results.explanation(name_of(choice.config), key_of(p, w), choice.row, target_of(p))
  if choice.config then return out end
  local matrix = on_device.new(A.device, A.dtype, matrices.layout(w.shape))
  local of = products.explain(A, matrix, C, with(opts, "device", device))
  matrix:close()
  out.config = ("%s, %s"):format(MATRIX, of.config)
  if choice.row then return out end
  out.how, out.text, out.device, out.ms = of.how, of.text, of.device, of.ms
  return out
end

--- As matmul's explain.
function M.explain(A, w, C, options)
  local of_C, rest, how = products.table_options(C, options)
  local out, opts = operands(A, w, of_C, rest)
  local choice = choose(problem_of(A, w, out, opts, how.device), w, opts)
  return told(A, w, out, opts, choice, how.device)
end

-- The names of the configurations of a problem, the rule's first, as operator_search.lua has them.
local function candidates(p, w)
  local first = name_of(rule(p, w))
  local list = { { name = first } }
  for _, config in ipairs(configs_of(p, w)) do
    if config.name ~= first then list[#list + 1] = { name = config.name } end
  end
  if first ~= MATRIX then list[#list + 1] = { name = MATRIX } end
  return list
end

--- As matmul's tune.
function M.tune(A, w, C, options)
  local of_C, rest, how = products.table_options(C, options)
  local out, opts = operands(A, w, of_C, rest)
  local function prepared(args, _, config)
    return (M.prepare(args[1], w, args[2], with(opts, "config", config.name)))
  end
  local row = require "cuttle.operator_search".tune({ name = "matmul", prepared = prepared,
    key = function(p) return key_of(p, w) end,
    candidates = function(p) return candidates(p, w) end,
    problem = function(args, _, device) return problem_of(args[1], w, args[2], opts, device) end },
    { A, out }, rest, how)
  local p = problem_of(A, w, out, opts, not device().sm and row.device or nil)
  local found = named(p, w, row.config:match '^name="(.+)"$')
  return told(A, w, out, opts, { config = found.config, row = row }, p.on and row.device)
end

return M
