-- einsum.lua: einsum("bmk,bnk->bmn", A, B) and contract(A, B): sums of products of tensors by the
-- names of their modes. Two tensors are a product of matrices with modes of modes: matmul computes
-- it by the template that fits (matmul_choice.lua, gemm_nested.lua), or einsum_plain.lua does.
local tiles = require "cuttle.tiles"
local arguments = require "cuttle.arguments"
local lists = require "cuttle.lists"
local texts = require "cuttle.einsum_text"
local modes = require "cuttle.einsum_modes"
local plain = require "cuttle.einsum_plain"
local again = require "cuttle.matmul_again"
local products = require "cuttle.matmul"
local steps = require "cuttle.operator_steps"
local device_of = require "cuttle.operator_device"
local M = {}

local known_options <const> = { "alpha", "beta", "bits", "config", "split", "stream" }
local matmul_options <const> = { "bits", "config", "split" }

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

local function check_tensor(op, x, what)
  arguments.check_tensor(op, x, what, "or a view of one", op .. " launches kernels itself. Inside "
    .. "of one, multiply tiles by gemm")
end

-- {====== The result ======

-- A new C, column-major; of no modes, one element.
local function new_result(names, extents, like)
  local shape = lists.map(names, function(name) return extents[name] end)
  if #shape == 0 then shape[1] = 1 end
  return device_of.new(like.device, products.result_type(like.dtype), layout(shape))
end

-- The term of a given C; one without modes has one element.
local function result_term(op, C, names, extents)
  if #names == 0 then
    if size(C) ~= 1 then tiles.fail(op, "C is %s; expected one element", C.layout) end
    return { tensor = C, what = "C", names = {}, extent = {}, stride = {} }
  end
  if rank(C) ~= #names then
    tiles.fail(op, "C is %s, of rank %d; expected rank %d, a mode for each of '%s'", C.layout,
      rank(C), #names, table.concat(names, ", "))
  end
  local c = modes.term(op, C, names, "C")
  for i, name in ipairs(names) do
    if c.extent[name] ~= extents[name] then
      tiles.fail(op, "mode %d of C, '%s', has extent %d; expected %d", i - 1, name, c.extent[name],
        extents[name])
    end
  end
  return c
end

local function check_result(op, c, operands)
  local flat = arguments.flat(arguments.describe(op, c.tensor, "C", true))
  arguments.check_distinct(op, flat)
  for _, x in ipairs(operands) do
    if x.tensor.device ~= c.tensor.device then
      tiles.fail(op, "%s is on %s but C is on %s; expected all on one device", x.what,
        x.tensor.device, c.tensor.device)
    end
    local other = arguments.flat(arguments.describe(op, x.tensor, x.what, true))
    arguments.check_apart(op, flat, { other })
  end
end

-- {====== One or two operands ======

local function has_matmul_options(options)
  return lists.any(matmul_options, function(name) return options[name] ~= nil end)
end

-- Why no template of matmul computes product p; nil: one does.
local function why_plain(p, has_B, options)
  local for_matmul = has_matmul_options(options)
  if for_matmul and not has_B then
    tiles.fail("einsum", "%s are for products of two operands, and there is one",
      table.concat(matmul_options, ", "))
  end
  if for_matmul then return nil end
  if not has_B then return "there is one operand" end
  if p.size.m == 1 and p.size.n == 1 and p.size.l > 1 then
    return "each product is of two vectors"
  elseif p.size.l > products.MAX_BATCHES then
    return ("there are %d batches; matmul takes at most %d"):format(p.size.l, products.MAX_BATCHES)
  end
end

local function plain_step(p, a, b, c, options)
  local e = modes.elements(p)
  return plain.step(p, modes.view("a", a.tensor, { e, p.k }),
    b and modes.view("b", b.tensor, { e, p.k }), modes.view("c", c.tensor, { e }), options)
end

-- The operands of matmul: (M,K), (N,K) and (M,N), with batches where there are any.
local function matrices(p, a, b, c, at)
  local l = p.size.l ~= 1 and p.l or nil
  return modes.view("a", a.tensor, { p.m, p.k, l }, at and at.a),
    modes.view("b", b.tensor, { p.n, p.k, l }, at and at.b),
    modes.view("c", c.tensor, { p.m, p.n, l }, at and at.c)
end

-- A product whose C has modes of modes, as products apart: see modes.apart. nil: it is one.
local function apart(p, a, b, c, options)
  if has_matmul_options(options) then return nil end
  local q, offsets = modes.apart(p)
  if not q then return nil end
  local A, B, C = matrices(p, a, b, c)
  if products.has_boxes(A, B, C, options) then return nil end
  return q, offsets
end

-- The steps of products apart.
local function steps_apart(q, offsets, a, b, c, options)
  local all = {}
  for _, at in ipairs(offsets) do
    local A, B, C = matrices(q, a, b, c, at)
    local _, _, found = products.prepare(A, B, C, options)
    table.move(found, 1, #found, #all + 1, all)
  end
  return all
end

local none <const> = { names = {}, extent = {}, stride = {} }

-- Adds alpha times the contraction of a and b (or nil) to c, by what explain says of it. place:
-- where the product's step is kept, or nil.
local function compute(op, a, b, c, extents, options, place)
  check_result(op, c, { a, b })
  local p = modes.product(a, b or none, c, extents)
  if why_plain(p, b ~= nil, options) then
    if size(c.tensor) == 0 then return end
    local step = plain_step(p, a, b, c, options)
    steps.run { step }
    if place then again.keep(place, { step }) end
    return
  end
  local q, offsets = apart(p, a, b, c, options)
  if q then
    local all = steps_apart(q, offsets, a, b, c, options)
    steps.run(all)
    if place and #all == #offsets then again.keep(place, all) end
  else
    local A, B, C = matrices(p, a, b, c)
    products.keep(place, A, B, C, options)
  end
end

-- {====== Many operands ======

-- The names of the product of two terms that others or the result still need.
local function names_left(x, y, others, result)
  local wanted, names, seen = {}, {}, {}
  for _, list in ipairs(others) do
    for _, name in ipairs(list.names) do wanted[name] = true end
  end
  for _, name in ipairs(result) do wanted[name] = true end
  for _, term in ipairs { x, y } do
    for _, name in ipairs(term.names) do
      if wanted[name] and not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  return names, seen
end

local function without(list, i, j)
  local out = {}
  for k, x in ipairs(list) do
    if k ~= i and k ~= j then out[#out + 1] = x end
  end
  return out
end

-- The multiplications of a product of two terms.
local function cost_of(seen, extents)
  local n = 1.0
  for name in pairs(seen) do n = n * extents[name] end
  return n
end

-- Which two terms are multiplied first: those of the fewest multiplications.
local function cheapest(terms, result, extents)
  local best
  for i = 1, #terms - 1 do
    for j = i + 1, #terms do
      local names, seen = names_left(terms[i], terms[j], without(terms, i, j), result)
      local cost = cost_of(seen, extents)
      if not best or cost < best.cost then best = { i = i, j = j, names = names, cost = cost } end
    end
  end
  return best
end

-- The steps, in order: {a =, b =, names =}: two terms and the names of their product. A product
-- that is a term of a later step has no tensor yet.
local function path_of(terms, result, extents)
  local path, number = {}, 0
  terms = table.move(terms, 1, #terms, 1, {})
  while #terms > 2 do
    local pair = cheapest(terms, result, extents)
    local step = { a = terms[pair.i], b = terms[pair.j], names = pair.names }
    number = number + 1
    step.made = { what = "product " .. number, names = pair.names }
    path[#path + 1] = step
    terms = without(terms, pair.i, pair.j)
    terms[#terms + 1] = step.made
  end
  path[#path + 1] = { a = terms[1], b = terms[2], names = result }
  return path
end

-- Gives a product of a path the tensor that it is computed to.
local function give_tensor(op, step, extents)
  local made = new_result(step.names, extents, step.a.tensor)
  local term = result_term(op, made, step.names, extents)
  for key, value in pairs(term) do step.made[key] = value end
end

-- {====== Entry points ======

-- The operands and what follows them: C and options, either of which may be missing.
local function read_rest(op, n, ...)
  local rest, operands = table.pack(...), {}
  for i = 1, n do
    if i > rest.n then
      tiles.fail(op, "the text has %d operands; expected as many tensors, but there are %d", n,
        rest.n)
    end
    check_tensor(op, rest[i], "operand " .. i)
    operands[i] = rest[i]
  end
  local C, options = rest[n + 1], rest[n + 2]
  if C ~= nil and not is_tensor(C) and options == nil then C, options = nil, C end
  if C ~= nil then check_tensor(op, C, "C") end
  if rest.n > n + 2 then
    tiles.fail(op, "%d arguments follow the text; expected operands (%d), C and options", rest.n, n)
  end
  options = arguments.options(op, options, known_options, "{alpha = 2.0}")
  if C == nil and options.beta ~= nil and options.beta ~= 0 then
    tiles.fail(op, "beta is %s, but there is no C to add; pass a tensor", options.beta)
  end
  return operands, C, options
end

-- A problem: the terms, the extents of the names, the names of the result.
local function to_problem(op, operands, names, result)
  local terms = {}
  for i, x in ipairs(operands) do
    terms[i] = modes.term(op, x, names[i], "operand " .. i)
    if x.dtype ~= operands[1].dtype then
      tiles.fail(op, "operand %d is %s but operand 1 is %s; the element types must be equal", i,
        x.dtype, operands[1].dtype)
    end
  end
  local dtype = operands[1].dtype
  local made = products.result_type(dtype)
  if #operands > 2 and made ~= dtype then
    tiles.fail(op, "%d operands are %s, and a product of two is %s; pass them as %s, or two at a "
      .. "time", #operands, dtype, made, made)
  end
  return { op = op, terms = terms, extents = modes.extents(op, terms), result = result }
end

local function no_factors(options) return { stream = options.stream } end

-- place: where what a single product finds is kept, or nil.
local function run(problem, C, options, place)
  local op, extents = problem.op, problem.extents
  local c = result_term(op, C, problem.result, extents)
  local path = path_of(problem.terms, problem.result, extents)
  for i, step in ipairs(path) do
    if i < #path then give_tensor(op, step, extents) end
    local is_last = i == #path
    compute(op, step.a, step.b, step.made or c, extents, is_last and options or no_factors(options),
      #path == 1 and place or nil)
  end
  for i = 1, #path - 1 do
    if path[i].made.tensor.device ~= "cpu" then path[i].made.tensor:close() end
  end
  return C
end

local function named_problem(text, operands)
  local ranks = lists.map(operands, rank)
  local names, result = texts.read(text, ranks)
  return to_problem("einsum", operands, names, result)
end

-- The problem, if it is needed, and C, which is new if there is none.
local function with_result(text, operands, C)
  if C then return nil, C end
  local problem = named_problem(text, operands)
  return problem, new_result(problem.result, problem.extents, operands[1])
end

--- einsum(text, A, ...[, C][, options]) -> C. What two operands find is kept for others that lie
--- alike.
function M.einsum(text, ...)
  local operands, given, options = read_rest("einsum", texts.count(text), ...)
  local problem, C = with_result(text, operands, given)
  local known, place
  if #operands == 2 then
    known, place = again.find(operands[1], operands[2], C, options, text)
  end
  if not known then return run(problem or named_problem(text, operands), C, options, place) end
  again.run(known, operands[1], operands[2], C)
  return C
end

-- {====== Named modes ======

local function names_of(x, what)
  local names = x.layout:names()
  for i = 1, rank(x) do
    if not names[i] then
      tiles.fail("contract", "mode %d of %s, %s, has no name; write view(t, t.layout:named(...))",
        i - 1, what, x.layout)
    end
  end
  return names
end

-- Of A and B, those names that are not in both, and those that are kept.
local function names_of_result(a, b, kept)
  local in_a, in_b, keep, out = {}, {}, {}, {}
  for _, name in ipairs(a) do in_a[name] = true end
  for _, name in ipairs(b) do in_b[name] = true end
  for _, name in ipairs(kept) do
    if not (in_a[name] and in_b[name]) then
      tiles.fail("contract", "keep has '%s', which is no mode of both operands", tostring(name))
    end
    keep[name] = true
  end
  for _, name in ipairs(a) do
    if not in_b[name] or keep[name] then out[#out + 1] = name end
  end
  for _, name in ipairs(b) do
    if not in_a[name] then out[#out + 1] = name end
  end
  return out
end

local function to_kept(keep)
  if keep == nil then return {} end
  if type(keep) == "string" then return { keep } end
  if type(keep) == "table" then return keep end
  tiles.fail("contract", "keep is of type %s; expected a name or a list of names", type(keep))
end

local contract_options <const> = { "alpha", "beta", "bits", "config", "keep", "split", "stream" }

local function read_contract(A, B, C, options)
  if C ~= nil and not is_tensor(C) and options == nil then C, options = nil, C end
  check_tensor("contract", A, "A")
  check_tensor("contract", B, "B")
  if C ~= nil then check_tensor("contract", C, "C") end
  options = arguments.options("contract", options, contract_options, '{keep = "batch"}')
  local a, b, kept = names_of(A, "A"), names_of(B, "B"), to_kept(options.keep)
  if C and options.keep ~= nil then
    tiles.fail("contract", "keep is of no use with a C, whose names say which modes are kept")
  end
  local result = C and names_of(C, "C") or names_of_result(a, b, kept)
  local rest = lists.with(options)
  rest.keep = nil
  return to_problem("contract", { A, B }, { a, b }, result), C, rest
end

--- contract(A, B[, C][, options]) -> C
function M.contract(A, B, C, options)
  local problem, out, rest = read_contract(A, B, C, options)
  for _, name in ipairs(problem.result) do
    if not problem.extents[name] then
      tiles.fail("contract", "mode '%s' of C is in neither A nor B", name)
    end
  end
  local made = run(problem, out or new_result(problem.result, problem.extents, A), rest)
  if out or #problem.result == 0 then return made end
  return view(made, made.layout:named(table.unpack(problem.result)))
end

-- {====== What is chosen ======

local function list_text(names) return #names > 0 and table.concat(names, " ") or "-" end

-- One step as {text =, template =}.
local function explain_step(step, extents, options)
  local c = step.c
  local p = modes.product(step.a, step.b or none, c, extents)
  local why = why_plain(p, step.b ~= nil, options)
  local template
  if why then
    local _, lanes = plain_step(p, step.a, step.b, c, options)
    template = ("one %s an element, as %s"):format(lanes == 1 and "thread" or "warp", why)
  else
    local q, offsets = apart(p, step.a, step.b, c, options)
    local A, B, C = matrices(q or p, step.a, step.b, c)
    template = products.explain(A, B, C).text
    if q then template = ("%d products of %d batches: %s"):format(#offsets, q.size.l, template) end
  end
  local n, s = p.names, p.size
  return ("rows %s (%d), columns %s (%d), sums %s (%d), batches %s (%d): %s"):format(
    list_text(n.m), s.m, list_text(n.n), s.n, list_text(n.k), s.k, list_text(n.l), s.l, template)
end

--- explain(text, A, ...): the products that einsum computes, in order, and by which kernels: a
--- table of lines, and all of them as `text`.
function M.explain(text, ...)
  local operands, given, options = read_rest("einsum", texts.count(text), ...)
  local problem = named_problem(text, operands)
  local extents, lines = problem.extents, {}
  local C = given or new_result(problem.result, extents, operands[1])
  local path = path_of(problem.terms, problem.result, extents)
  for i, step in ipairs(path) do
    if i < #path then give_tensor("einsum", step, extents) end
    step.c = step.made or result_term("einsum", C, problem.result, extents)
    lines[i] = explain_step(step, extents, options)
  end
  lines.text = table.concat(lines, "\n")
  return lines
end

return M
