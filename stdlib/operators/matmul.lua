-- matmul.lua: matmul(A, B, C, options): C = epilogue(alpha * A * B' + beta * C), for any strides
-- and sizes, in batches. matmul_problem.lua checks the arguments and brings the problem into its
-- canonical form. This file has a configuration chosen (matmul_choice.lua) and launches the kernel
-- that the configuration's template makes.
--
-- A template is a module with
--   n_threads(config)  the threads of a block
--   make(variant)      the kernel, called with (A, B, C, alpha, beta, operands...): A (M,K,L),
--                      B (N,K,L), C (M,N,L); the grid is gemm_raster.grid's, the block's part
--                      gemm_raster.tile's, and gemm_epilogue takes the sums to C
-- and, where these are the template's own,
--   grid(config, m, n, l, groups), args(config, problem, room)  the launch's grid; the arguments
--                before alpha
--   seen(config, problem)  the problem as the kernel sees it, A and B exchanged or A transposed
--   before(config, problem, stream)  the step that comes before, and memory that it writes for args
--   trouble(config, problem)  why the kernel cannot compute the problem, or nil
--   never_ran    no hardware has run it: explain says so
--   knows_plain  variants that are plain are made apart
--   takes_nested  operands may be nested
-- A variant is a configuration with what the operands add to it:
--   name             the kernel's
--   dtype, c_dtype   of A and B, of C
--   sum, work        the types of the sums and of the epilogue's numbers
--   a_major, b_major what is contiguous in A and B: "mn" (its rows, or none) or "k"
--   reads_c          beta is not 0
--   swapped          A and B changed places, so that M is what is contiguous in C: the epilogue's
--                    (m, n) are (n, m) of the kernel
--   bias, epilogue   the first operand is the bias; the function, if there is one
--   grouped          "m", "n" or "k": the mode that has groups (gemm_groups.lua); their ends come
--                    before the other operands
--   named, glu       operands and outputs of the epilogue; two columns make one (gemm_element.lua)
--   scales           of A and B (gemm_scales.lua); their operands come before the bias
--   ragged           a tile overhangs: operands and C are to be guarded
--   nested_A, nested_B, nested_C, even_A, even_B  of a nested operand: see gemm_nested.lua
--   gathers_rows, scatter  see gemm_indexed.lua
--   group            see gemm_raster.lua
--   plain            nothing is done with the sums: alpha is 1, beta 0, no bias, no epilogue
-- Fields of every configuration: name, template, tile {bM, bN, bK}; those of its template are
-- described there.
local tiles = require "cuttle.tiles"
local raster = require "cuttle.gemm_raster"
local indexed = require "cuttle.gemm_indexed"
local split = require "cuttle.gemm_split"
local nested = require "cuttle.gemm_nested"
local configs = require "cuttle.matmul_choice"
local problems = require "cuttle.matmul_problem"
local tables = require "cuttle.matmul_table"
local results = require "cuttle.operator_table"
local scales = require "cuttle.matmul_scales"
local again = require "cuttle.matmul_again"
local epilogues = require "cuttle.matmul_epilogue"
local launches = require "cuttle.operator_steps"
local lists = require "cuttle.lists"
-- matmul_bits.lua and matmul_lists.lua are loaded where a call has what they are for.
local M = { MAX_BATCHES = problems.MAX_BATCHES, result_type = problems.result_type }

local function fail(format, ...) tiles.fail("matmul", format, ...) end
local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Kernels ======

local kernels = setmetatable({}, { __mode = "k" }) -- by configuration or epilogue, then by text

local NO_EPILOGUE <const> = {}

-- Does a tile overhang?
local function is_ragged(config, p)
  local bM, bN, bK = table.unpack(config.tile)
  return p.groups ~= nil or p.m % bM ~= 0 or p.n % (bN * (config.cluster or 1)) ~= 0
    or p.k % bK ~= 0
end

-- Is there nothing to do with the sums, in a template that makes something of that?
local function is_plain(config, p)
  return require(config.template).knows_plain and p.alpha == 1 and p.beta == 0 and not p.bias
    and not p.epilogue and not p.scales and p.work == p.sum
end

-- Do tiles along K of a nested operand lie alike?
local function is_even(config, p, name)
  return name ~= "C" and p.nested[name] ~= nil
    and nested.is_even(shape(p[name])[2], config.tile[3])
end

local function add_nested(rows, config, p)
  for _, name in ipairs { "A", "B", "C" } do
    rows[#rows + 1] = { "nested_" .. name, p.nested[name] }
    rows[#rows + 1] = { "even_" .. name, is_even(config, p, name) }
  end
end

-- What makes one kernel of a configuration unlike another, beside the epilogue: field of the
-- variant, value.
local function distinctions(config, p, group)
  local rows = {
    { "dtype", p.dtype }, { "c_dtype", p.c_dtype }, { "sum", p.sum }, { "work", p.work },
    { "a_major", p.a_major }, { "b_major", p.b_major }, { "reads_c", p.beta ~= 0 },
    { "swapped", p.swapped }, { "bias", p.bias ~= nil }, { "group", group or false },
    { "grouped", p.groups and p.groups.mode }, { "ragged", is_ragged(config, p) },
    { "plain", is_plain(config, p) } }
  local is_batched = require(config.template).is_batched
  if is_batched then
    rows[#rows + 1] = { "batched", is_batched(config, p.m, p.n, p.l, p.groups) }
  end
  if p.nested then add_nested(rows, config, p) end
  if p.rows then table.move(indexed.distinctions(p.rows), 1, 2, #rows + 1, rows) end
  if p.scales then rows[#rows + 1] = { "text_of_scales", scales.text(p.scales) } end
  if p.named then
    rows[#rows + 1] = { "text_of_named", epilogues.text(p.named) }
    rows[#rows + 1] = { "glu", p.glu }
  end
  return rows
end

local function make_kernel(config, p, distinct)
  local variant = { name = "matmul_" .. p.dtype.name, epilogue = p.epilogue, named = p.named,
                    scales = scales.kinds(p.scales) }
  for _, row in ipairs(distinct) do
    variant[row[1]] = row[2]
  end
  for key, value in pairs(config) do
    if variant[key] == nil then variant[key] = value end
  end
  return { kernel = require(config.template).make(variant), variant = variant }
end

local function get_or_add(t, key, mode)
  if t[key] == nil then t[key] = setmetatable({}, mode) end
  return t[key]
end

-- {kernel =, variant =}: one for each configuration, epilogue and set of distinctions. Those of an
-- epilogue that nobody has any more are collected with it.
local function kernel_of(config, p, group)
  local by_epilogue = get_or_add(kernels, config, { __mode = "k" })
  local by_text = get_or_add(by_epilogue, p.epilogue or NO_EPILOGUE)
  local distinct, words = distinctions(config, p, group), {}
  for i, row in ipairs(distinct) do
    words[i] = tostring(row[2])
  end
  local text = table.concat(words, " ")
  by_text[text] = by_text[text] or make_kernel(config, p, distinct)
  return by_text[text]
end

-- What the kernel of a configuration takes, with these operands of the epilogue, and with the
-- memory of the step that comes before.
local function args_of(config, p, operands, room)
  local template = require(config.template)
  local args = template.args and template.args(config, p, room) or { p.A, p.B, p.C }
  table.move({ p.work(p.alpha), p.work(p.beta) }, 1, 2, #args + 1, args)
  if p.groups and p.groups.ends then args[#args + 1] = p.groups.ends end
  if p.rows then
    args[#args + 1] = p.rows.gather
    args[#args + 1] = p.rows.scatter
  end
  if p.scales then table.move({ p.scales.A.tensor, p.scales.B.tensor }, 1, 2, #args + 1, args) end
  if p.bias then args[#args + 1] = p.bias end
  for _, x in ipairs(operands or p.operands) do args[#args + 1] = x end
  return args
end

-- Blocks that stay for many tiles take them in whatever number, of each batch the same.
local function limit_grid(grid, config, p)
  if not (p.blocks and config.blocks) then return end
  local high = config.cluster or 1
  local n = math.max(p.blocks // grid[3] // high, 1) * high
  grid[1] = math.min(grid[1], n)
end

-- {kernel =, launch =, args =, config =, after =} of a problem that has elements; after: the steps
-- that join what its blocks reduced.
local function plan(p, wanted, stream)
  local config = configs.choose(p, wanted)
  local template = require(config.template)
  local asked, before, room = p, nil, nil
  if template.seen then p = template.seen(config, p) end
  if template.before then before, room = template.before(config, p, stream) end
  local grid, group = (template.grid or raster.grid)(config, p.m, p.n, p.l, p.groups)
  limit_grid(grid, config, p)
  local made = kernel_of(config, p, group)
  local operands, after = epilogues.args(p, made.variant, stream)
  local cluster = config.cluster or config.k_blocks
  local launch = { grid = grid, block = template.n_threads(config), stream = stream,
                   pdl = config.pdl, cooperative = config.cooperative,
                   cluster = cluster and { cluster, 1, 1 } }
  return { kernel = made.kernel, launch = launch, args = args_of(config, p, operands, room),
           config = config, before = before, room = room, after = after,
           seen = p ~= asked and p or nil }
end

-- The steps with what comes before and after each.
local function complete(steps)
  local all = {}
  for _, step in ipairs(steps) do
    all[#all + 1] = step.before
    all[#all + 1] = step
    table.move(step.after or {}, 1, #(step.after or {}), #all + 1, all)
    step.before, step.after = nil, nil
  end
  return all
end

local function is_deep(p) return require "cuttle.gemm_scales".is_deep(p) end

-- Is K never cut?
local function is_whole(p) return p.groups or p.nested or is_deep(p) end

-- Into how many parts K is cut.
local function parts_of(p, wanted)
  if wanted == nil then return is_whole(p) and 1 or split.parts(p) end
  split.check(p, wanted)
  if wanted > 1 and p.groups then
    fail("split is %d, but there are groups; only K of a single product is split", wanted)
  elseif wanted > 1 and p.nested then
    fail("split is %d, but a mode of A, B or C has more than one stride; only K of matrices with "
      .. "one stride a mode is split", wanted)
  elseif wanted > 1 and is_deep(p) then
    fail("split is %d, but a scale is of blocks of K; only K of sums without such scales is split",
      wanted)
  elseif wanted > 1 and p.l > 1 then
    fail("split is %d, but there are %d batches; only K of a single product is split", wanted, p.l)
  end
  return wanted
end

-- The kernels that compute a problem within the contract of options.bits, in order.
local function plans_of_contract(p, options)
  local matmul_bits = require "cuttle.matmul_bits"
  local contract, stream = matmul_bits.contract(p, options), options.stream
  local n, first, last = parts_of(p, contract.parts), nil, nil
  local fit, steps, is_apart = matmul_bits.fitted(p, contract, stream)
  if n > 1 then
    first = split.first(fit, n)
    last = plan(split.second(p, first), split.config, stream)
  elseif is_apart then
    first = split.whole(fit)
    last = plan(split.second(p, first), split.whole_config, stream)
  end
  first = first or fit
  local main = plan(first, matmul_bits.row(first, contract, options.config), stream)
  main.contract = contract
  steps[#steps + 1] = main
  steps[#steps + 1] = last
  return complete(steps)
end

-- Into how many parts K is cut, and the configuration or its name or nil.
local function chosen(p, options)
  if options.config == nil and options.split == nil then
    local choice = tables.choose(p)
    if choice then return choice.split, choice.config end
  end
  return parts_of(p, options.split), options.config
end

-- The kernels that compute a problem, in order.
local function plans(p, options)
  if p.m == 0 or p.n == 0 or p.l == 0 or p.groups and p.groups.n == 0 then return {} end
  if options.bits ~= nil then return plans_of_contract(p, options) end
  local n, config = chosen(p, options)
  if n == 1 then return complete{ plan(p, config, options.stream) } end
  local first = split.first(p, n)
  if options.config == nil and config and not configs.accepts(config, first) then config = nil end
  local main = plan(first, config, options.stream)
  main.parts = n
  return complete{ main, plan(split.second(p, first), split.config, options.stream) }
end

-- Closes the views that the steps had of A, B and C, and sums of parts: else the memory of a C that
-- its script closes would wait for the collector. On the CPU engine launches may still wait to run.
local function close_views(p, steps)
  if p.device == "cpu" then return end
  for _, step in ipairs(steps) do
    for i = 1, 3 do
      if is_tensor(step.args[i]) then step.args[i]:close() end
    end
    if step.seen then step.seen.C:close() end
  end
  for _, name in ipairs { "A", "B", "C" } do p[name]:close() end
end

-- place: where what is found may be kept, or nil.
local function multiply(A, B, C, options, place)
  local p = problems.problem(A, B, C, options)
  local steps = plans(p, options)
  launches.run(steps)
  local room = steps[#steps] and steps[#steps].room
  if place and #steps == (room and 2 or 1) then again.keep(place, steps, room) end
  close_views(p, steps)
end

-- The operator of operands of other types, or of lists of tensors.
local function own_operator(name, A, ...)
  if type(A) == "table" and getmetatable(A) == nil then
    return function(...) return require "cuttle.matmul_lists"[name](M.step, ...) end
  end
  return tiles.own_operator(name, A, ...)
end

--- matmul of A, B and C, whose step is kept at `place`, of matmul_again.lua, unless that is nil.
function M.keep(place, A, B, C, options)
  local out, opts = problems.operands(A, B, C, options)
  multiply(A, B, out, opts, place)
  if M.on_product then M.on_product(A, B, out, opts) end
end

--- matmul(A, B[, C][, options]) -> C
function M.matmul(A, B, C, options)
  local own = own_operator("matmul", A, B, C)
  if own then return own(A, B, C, options) end
  local out, opts = problems.operands(A, B, C, options)
  local known, place = again.find(A, B, out, opts)
  if known then
    again.run(known, A, B, out)
  else
    multiply(A, B, out, opts, place)
  end
  if M.on_product then M.on_product(A, B, out, opts) end -- `cuttle bench` listens
  return out
end

--- What matmul knows of a problem, as configurations are chosen by.
function M.problem(A, B, C, options)
  return select(3, problems.arguments(A, B, C, options))
end

-- {====== Results of tune ======

local own_names <const> = { device = '"A100"', file = '"mine.tune"' }
local set_names <const> = { "bits", "config", "split" }

--- C, matmul's options, and those of explain and tune, of their arguments from the third on.
function M.table_options(C, options)
  if C ~= nil and not is_tensor(C) and options == nil then C, options = nil, C end
  local how, rest = results.options("matmul", options, own_names)
  results.check_free("matmul", rest, set_names)
  return C, rest, how
end

-- The tensors, and both kinds of options.
local function split_arguments(A, B, C, options)
  local of_C, rest, how = M.table_options(C, options)
  return { A, B, (problems.arguments(A, B, of_C, rest)) }, rest, how
end

-- See operator_search.lua.
local operator <const> = { name = "matmul", key = tables.key, candidates = tables.candidates }

function operator.problem(args, options, device)
  local p = select(3, problems.arguments(args[1], args[2], args[3], options))
  return device and tables.on(p, device) or configs.facts(p)
end

function operator.prepared(args, options, config)
  local how = lists.with({ config = config.name, split = config.split }, options)
  return (M.prepare(args[1], args[2], args[3], how))
end

M.operator = operator

--- explain(A, B[, C][, options]): what matmul chooses, and why: docs/matmul.md. options.device: on
--- which GPU of the model; nil: the one in use.
function M.explain(A, B, C, options)
  local own = own_operator("explain matmul", A, B, C)
  if own then return own(A, B, C, options) end
  local args, rest, how = split_arguments(A, B, C, options)
  return tables.explain(operator.problem(args, rest, how.device))
end

--- tune(A, B[, C][, options]): finds out what is best for such a product, and keeps it:
--- docs/matmul.md. Returns what it found, as explain does.
function M.tune(A, B, C, options)
  local own = own_operator("tune matmul", A, B, C)
  if own then return own(A, B, C, options) end
  local args, rest, how = split_arguments(A, B, C, options)
  if rest.groups then fail("tune does not support groups") end
  if operator.problem(args, rest).nested then
    fail("tune needs matrices with one stride per mode")
  end
  local row = require "cuttle.operator_search".tune(operator, args, rest, how)
  local device = not device().sm and row.device or nil
  return tables.told(operator.problem(args, rest, device), row)
end

--- Takes the results of this file into account from now on.
function M.use(path) results.use("matmul", path, tables.trouble) end

--- Is this one product, though modes of C have two strides each, that TMA stores?
function M.has_boxes(A, B, C, options)
  local _, opts, p = problems.arguments(A, B, C, options)
  return opts.config == nil and configs.choose(p).boxes ~= nil
end

--- The step that computes a problem, of M.problem's, by a configuration: {kernel =, launch =,
--- args =}.
function M.step(p, config, stream) return plan(p, config, stream) end

local TENSORS <const> = { A = true, B = true, C = true, panels = true }

-- What a step and the steps of other tensors of the same layouts, types and devices have in common.
-- It holds no tensor, so it is of problems without bias and operands.
local function remember(step, p)
  local rest, layouts = {}, { A = p.A.layout, B = p.B.layout, C = p.C.layout }
  for key, value in pairs(p) do
    if not TENSORS[key] then rest[key] = value end
  end
  return { kernel = step.kernel, launch = step.launch, config = step.config,
           swapped = p.swapped, layouts = layouts, problem = { __index = rest } }
end

-- The problem again, of other tensors in the order of the script.
local function recall(known, A, B, C)
  if known.swapped then A, B = B, A end
  local l, view = known.layouts, view
  return setmetatable({ A = A and view(A, l.A), B = B and view(B, l.B), C = view(C, l.C) },
    known.problem)
end

--- A step by a memo, a table that keeps what was found the first time: find() returns a step of
--- M.step and its problem, and extend(p, config) adds to a problem of other tensors what find adds.
--- A or B may be nil if the template does not look at it.
function M.step_by(memo, A, B, C, extend, find)
  local known = memo.known
  if known then
    local p = extend(recall(known, A, B, C), known.config)
    return { kernel = known.kernel, launch = known.launch, config = known.config,
             args = args_of(known.config, p) }
  end
  local step, p = find()
  if step then memo.known = remember(step, p) end
  return step
end

--- Of the steps of a product, the one that multiplies; nil: there are none.
function M.main(steps)
  return lists.filter(steps, function(step) return step.config ~= nil end)[1]
end

-- What was chosen within a contract, the contract and the order.
local function name_within(steps)
  local bits = require "cuttle.bits"
  for _, step in ipairs(steps) do
    local contract = step.contract
    if contract then
      return ("%s, %s: %s"):format(step.config.name, bits.title(contract.bits),
        bits.text(contract.order))
    end
  end
  return "none"
end

--- The same, to be launched again at least cost: a function without arguments, the name of the
--- configuration, and the kernels' steps, {kernel =, launch =, args =, config =} each; a step that
--- joins what an epilogue reduced has no config.
function M.prepare(A, B, C, options)
  local own = own_operator("prepare matmul", A, B, C)
  if own then return own(A, B, C, options) end
  local _, opts, p = problems.arguments(A, B, C, options)
  local steps = plans(p, opts)
  local launch = launches.prepare(steps)
  if opts.bits ~= nil then return launch, name_within(steps), steps end
  local main = M.main(steps)
  local name = main and main.config.name or "none"
  if main and main.parts then name = ("%s, K by %d"):format(name, main.parts) end
  return launch, name, steps
end

return M
