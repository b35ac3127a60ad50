-- matmul_packed.lua: products of f16, bf16, f8e4m3 or i8 and packed weights (packed_weights.lua).
-- Few rows are multiplied by gemm_packed.lua, more on Hopper by gemm_packed_hopper.lua. Otherwise
-- the weight becomes a matrix of A's type, in memory that is freed after the product, and matmul
-- multiplies. An A of 8 bits becomes one of 16 bits before.
local configs = require "cuttle.matmul_packed_configs"
local memo = require "cuttle.memo"
local tiles = require "cuttle.tiles"
local grouping = require "cuttle.gemm_groups"
local of_blocks = require "cuttle.gemm_scales"
local launches = require "cuttle.operator_steps"
local on_device = require "cuttle.operator_device"
local problems = require "cuttle.matmul_problem"
local products = require "cuttle.matmul"
local results = require "cuttle.operator_table"
local scales = require "cuttle.matmul_scales"
local matrices = require "cuttle.packed_matrix"
local again = require "cuttle.matmul_again"
local tables = require "cuttle.matmul_table"
local M = {}

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

-- {====== Choice ======

local MATRIX <const> = "dequantized" -- the name of what is no configuration of these
local FARTHEST <const> = 3 -- as of matmul_table.lua
local twins <const> = { f16 = "bf16", bf16 = "f16" }

local function name_of(config) return config and config.name or MATRIX end

-- {config =} of that name, where nil is a matrix; nil: there is none.
local function named(p, w, name)
  if name == MATRIX then return {} end
  for _, config in ipairs(configs.all(p, w)) do
    if config.name == name then return { config = config } end
  end
end

local function by_name(p, w, name)
  local found = named(p, w, name)
  if found then return found end
  local names = { ("'%s'"):format(MATRIX) }
  for _, config in ipairs(configs.all(p, w)) do names[#names + 1] = "'" .. config.name .. "'" end
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
  local numbers = {}
  for word in key:gmatch "%f[%w]%d+%f[^%w]" do numbers[#numbers + 1] = math.tointeger(word) end
  local group, n, m, k, n_groups = table.unpack(numbers)
  if not k or (n_groups == nil) ~= (p.groups == nil) then return nil end
  return name_of(configs.rule(setmetatable({ n = n, m = m, k = k,
    groups = n_groups and setmetatable({ n = n_groups }, { __index = p.groups }) },
    { __index = p }), setmetatable({ group = group, shape = { m, k } }, { __index = w })))
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
  local of_rule, place = configs.rule(p, w, wanted), configs.target_of(p)
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

-- The options, and a configuration of gemm_packed.lua among them; the last result: what is in the
-- order of codes, for M.ordered: {A = true} or {C = bits}.
local function split_options(options)
  if type(options) ~= "table" then return options, nil end
  local wanted = type(options.config) == "table" and options.config or nil
  local ordered = (options.ordered or options.orders)
    and { A = options.ordered, C = options.orders }
  if wanted then options = with(options, "config", nil) end
  if ordered then options = with(with(options, "ordered", nil), "orders", nil) end
  return options, wanted, ordered
end

-- C, the options, and a configuration of gemm_packed.lua among them or nil.
local function operands(A, w, C, options)
  check_operands(A, w)
  if C ~= nil and tiles.type_name(C) ~= "tensor" and options == nil then C, options = nil, C end
  local rest, wanted, ordered = split_options(options)
  local out, opts = problems.operands(A, stand_in(A, w), C, rest)
  return out, opts, wanted, ordered
end

-- The steps, what computes, and a list of memory that only they need.
function plans(A, w, out, opts, wanted, ordered)
  local q, steps = problem(A, w, out, opts), {}
  if q.m == 0 or q.n == 0 then return {}, "none", {} end
  local config = choose(q, w, opts, wanted).config
  if not config then return (A.dtype.bits == 8 and by_wide or by_matrix)(A, w, out, opts) end
  q.packed = w
  if ordered and ordered.C then config = configs.kept(with(config, "orders", ordered.C)) end
  local extra
  if ordered and ordered.A then
    q.ordered = A
  elseif config.template == configs.HOPPER then
    extra = on_device.new(A.device, A.dtype, row_major{ q.n, q.k })
    q.ordered = extra
    steps[1] = require(configs.HOPPER).order(q.B(_, _, 0), extra, opts.stream,
      q.rows and q.rows.gather)
    if q.rows then q.rows, q.nested = with(q.rows, "gather", nil), with(q.nested, "B", nil) end
  end
  local step = products.step(q, config, opts.stream)
  steps[#steps + 1] = step
  table.move(step.after or {}, 1, #(step.after or {}), #steps + 1, steps)
  return steps, config.name, { extra }
end

-- Multiplies, and keeps at `place` what it found, unless that is nil: a step, or two with memory
-- between them.
local function multiply(A, w, out, opts, wanted, ordered, place)
  local steps, _, extras = plans(A, w, out, opts, wanted, ordered)
  launches.run(steps)
  if place and #extras < 2 and #steps == 1 + #extras then again.keep(place, steps, extras[1]) end
  if w.device == "cpu" then return end -- launches may still wait to run
  for _, extra in ipairs(extras) do extra:close() end
end

--- matmul(A, packed[, C][, options]) -> C
function M.matmul(A, w, C, options)
  local out, opts, wanted, ordered = operands(A, w, C, options)
  local known, place
  if not wanted and not ordered then
    known, place = again.find(A, stand_in(A, w), out, opts, nil, w.again)
  end
  if known then
    again.run(known, A, stand_in(A, w), out)
  else
    multiply(A, w, out, opts, wanted, ordered, place)
  end
  return out
end

--- As matmul's prepare.
function M.prepare(A, w, C, options)
  local steps, name = plans(A, w, operands(A, w, C, options))
  return launches.prepare(steps), name, steps
end

--- Is a product by wgmma, so that an operand may be in the order of the codes? The options are
--- matmul's. With {orders = bits} a product with glu then stores C in it, for activations of so
--- many bits, and with {ordered = true} the next one takes that as A.
function M.ordered(A, w, C, options)
  if tiles.type_name(w) ~= "packed weight" then return false end
  local out, opts, wanted = operands(A, w, C, options)
  local q = problem(A, w, out, opts)
  local config = q.m > 0 and q.n > 0 and choose(q, w, opts, wanted).config
  return config and config.template == configs.HOPPER
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
  local out = results.explanation(name_of(choice.config), key_of(p, w), choice.row,
    configs.target_of(p))
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
  local first = name_of(configs.rule(p, w))
  local list = { { name = first } }
  for _, config in ipairs(configs.all(p, w)) do
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
