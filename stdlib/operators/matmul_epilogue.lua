-- matmul_epilogue.lua: matmul's options epilogue, operands, outputs and glu, checked. Operands in a
-- list follow (v, m, n, l) in the function's arguments. Operands with names, outputs and glu make
-- it a function (v, e) of an element, gemm_element.lua.
local arguments = require "cuttle.arguments"
local reduce = require "cuttle.gemm_reduce"
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = {}

local PLACES <const> = { m = true, n = true, l = true }

local function fail(format, ...) tiles.fail("matmul", format, ...) end
local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Operands ======

-- The names in a table, sorted; nil: it is a list.
local function names_of(t, option)
  local names = {}
  for name in pairs(t) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  if #names == 0 then return nil end
  if #t > 0 then
    fail("%s has names, as '%s', and a list; expected one or the other", option, names[1])
  end
  table.sort(names)
  return names
end

local function check_name(name, option)
  if PLACES[name] or not name:find "^[%a_][%w_]*$" then
    fail("%s has '%s'; expected a name of Lua that is not m, n or l, the element's place", option,
      name)
  end
end

local function check_place(x, device, what)
  if is_tensor(x) and x.device ~= device then
    fail("%s of the epilogue is on %s but C is on %s; expected all on one device", what, x.device,
      device)
  end
end

local function operands_of(options)
  local operands = options.operands
  if operands == nil then return {} end
  if type(operands) ~= "table" then
    fail("operands is of type %s; expected a table of tensors and numbers, which the epilogue gets "
      .. "after (v, m, n, l)", tiles.type_name(operands))
  elseif not options.epilogue then
    fail("operands belong to an epilogue, but there is none; give "
      .. "{epilogue = function(v, m, n, l, ...) ... end}")
  end
  return operands
end

-- {====== Outputs ======

-- The words of the operations, for messages.
local function words_of_ops()
  local words = {}
  for op in pairs(reduce.ops) do words[#words + 1] = '"' .. op .. '"' end
  table.sort(words)
  return table.concat(words, ", ")
end

-- The tensor and what it is for.
local function tensor_of(x, name)
  if is_tensor(x) then return x, "store" end
  local t, op = nil, nil
  if type(x) == "table" then t, op = x[1], x[2] end
  if not is_tensor(t) or not reduce.ops[op] then
    fail("outputs.%s is of type %s; expected a tensor like C, or {tensor, op} with op one of %s",
      name, tiles.type_name(x), words_of_ops())
  end
  return t, op
end

-- An output of C's shape, as (M,N,L).
local function like_C(x, name, p)
  local extent = p.c.extent
  local t = arguments.describe("matmul", x, "outputs." .. name)
  local l = t.extent[3] or 1
  if t.extent[1] ~= extent[1] or t.extent[2] ~= extent[2] or l ~= extent[3] then
    fail("outputs.%s is %s; expected the shape of C, %s", name, shape(x), shape(p.c.tensor))
  end
  local strides = { t.stride[1], t.stride[2], t.stride[3] or 0 }
  return view(x, layout({ extent[1], extent[2], l }, strides))
end

-- One that is reduced, as (M,L), (N,L) or (1,L).
local function reduced(x, name, op, p)
  local kept, extent = reduce.ops[op].kept, p.c.extent
  local n, l = kept and extent[kept == "m" and 1 or 2] or 1, extent[3]
  local given = rank(x) == 2 and size(x, 1) or 1
  if x.dtype ~= f32 or rank(x) > 2 or size(x, 0) ~= n or given ~= l then
    fail("outputs.%s is %s %s; expected f32 (%d%s), one number for each %s", name, x.dtype,
      shape(x), n, l > 1 and "," .. l or "",
      kept == "m" and "row" or kept == "n" and "column" or "matrix")
  end
  local t = arguments.describe("matmul", x, "outputs." .. name)
  return view(x, layout({ n, l }, { t.stride[1], t.stride[2] or 0 }))
end

local function check_outputs(options, p)
  local outputs = options.outputs
  if type(outputs) ~= "table" or names_of(outputs, "outputs") == nil then
    fail("outputs is of type %s; expected a table of tensors by name, as in {outputs = {pre = P}}",
      tiles.type_name(outputs))
  elseif not options.epilogue then
    fail("outputs belong to an epilogue, but there is none; give "
      .. "{epilogue = function(v, e) ... end}")
  elseif p.groups then
    fail("there are groups and outputs; the last tile of a group reaches into the next one, so "
      .. "only C may be written")
  end
end

-- Operands, flat, by name; numbers are none.
local function described(operands, names)
  local list = {}
  for i = 1, #names do
    local x = operands[names[i]]
    if is_tensor(x) then
      local name = type(names[i]) == "string" and "operand " .. names[i] or "operand " .. i
      list[#list + 1] = arguments.flat(arguments.describe("matmul", x, name, true))
    end
  end
  return list
end

--- A result takes the place of an operand element by element, or not at all: other elements are
--- written before the epilogue reads them. One that is reduced has no elements of C, nor has one
--- whose rows go elsewhere.
function M.check_in_place(result, operands, is_elsewhere)
  if is_elsewhere then return arguments.check_apart("matmul", result, operands) end
  for _, t in ipairs(operands) do arguments.check_in_place("matmul", result, t) end
end

-- Adds the outputs to what is named, and to the operands.
local function add_outputs(options, p, made)
  check_outputs(options, p)
  local others = { arguments.flat(p.a), arguments.flat(p.b), arguments.flat(p.c) }
  local read = described(made.by_name, names_of(made.by_name, "operands") or {})
  for _, name in ipairs(names_of(options.outputs, "outputs")) do
    check_name(name, "outputs")
    local x, op = tensor_of(options.outputs[name], name)
    if made.by_name[name] then
      fail("'%s' is an operand and an output; give one another name", name)
    end
    check_place(x, p.c.tensor.device, "outputs." .. name)
    if reduce.ops[op] and reduce.ops[op].join == "sum" and options.bits then
      fail("outputs.%s is a sum over C, whose order depends on the configuration, so bits cannot "
        .. "be kept; leave out one of the two", name)
    end
    made.named[#made.named + 1] = { name = name, op = op }
    made.operands[#made.operands + 1] = op == "store" and like_C(x, name, p)
      or reduced(x, name, op, p)
    arguments.check_memory("matmul", x, "outputs." .. name, others)
    M.check_in_place(others[#others], read, op ~= "store")
  end
end

-- {====== All of it ======

-- How many columns of the product make one of C.
local function check_glu(options, p)
  if not options.glu then return end
  local n, c = p.b.extent[1], p.c
  if not options.epilogue then
    fail("glu needs an epilogue of two numbers; give {epilogue = function(gate, up, e) ... end}")
  elseif n % 2 ~= 0 then
    fail("B is %s; with glu columns 2n and 2n + 1 of the product make one, so N must be even",
      shape(p.b.tensor))
  elseif p.groups and p.groups.mode ~= "m" then
    fail("A is %s and B is %s; with glu groups are of rows: A (M,K), B (N,K,G)",
      shape(p.a.tensor), shape(p.b.tensor))
  elseif options.beta ~= nil and options.beta ~= 0 then
    fail("beta is %s; with glu C is not read", options.beta)
  elseif c.stride[2] ~= 1 and c.extent[2] > 1 then
    fail("C is %s; with glu C must be contiguous along N, as columns side by side make one",
      c.tensor.layout)
  end
end

-- What a function of an element is given: {named =, operands =}; nil: the function is of
-- (v, m, n, l, operands...).
local function named_of(options, operands, p)
  local names = names_of(operands, "operands")
  if not (names or options.outputs or options.glu) then return nil end
  if #operands > 0 then
    fail("operands is a list, but with outputs or glu the epilogue is a function (v, e); give them "
      .. "names, as in {operands = {scale = s}}")
  end
  local made = { named = {}, operands = {}, by_name = operands }
  for _, name in ipairs(names or {}) do
    check_name(name, "operands")
    check_place(operands[name], p.c.tensor.device, "operand " .. name)
    made.named[#made.named + 1] = { name = name }
    made.operands[#made.operands + 1] = operands[name]
  end
  if options.outputs ~= nil then add_outputs(options, p, made) end
  return made
end

--- What the options say, of a product of described operands {a =, b =, c =, groups =}: {epilogue =,
--- operands = a list, named = of each {name =, op =} or nil, glu =}.
function M.read(options, p)
  local operands, epilogue = operands_of(options), options.epilogue
  if epilogue ~= nil and type(epilogue) ~= "function" then
    fail("epilogue is of type %s; expected a function (v, m, n, l, operands...) that returns the "
      .. "element of C", tiles.type_name(epilogue))
  end
  check_glu(options, p)
  local made = named_of(options, operands, p)
  local places = {}
  for i, x in ipairs(operands) do
    check_place(x, p.c.tensor.device, ("operand %d"):format(i))
    places[i] = i
  end
  local c = arguments.flat(p.c)
  M.check_in_place(c, described(operands, names_of(operands, "operands") or places),
    p.rows and p.rows.scatter)
  if made then
    return { epilogue = epilogue, operands = made.operands, named = made.named,
             glu = options.glu or nil }
  end
  return { epilogue = epilogue, operands = operands }
end

--- What distinguishes kernels of one function: names and operations.
function M.text(named)
  local words = lists.map(named or {}, function(of) return of.name .. ":" .. (of.op or "") end)
  return table.concat(words, ",")
end

--- The operands as a kernel takes them, and the steps that join parts after it.
function M.args(p, variant, stream)
  local args, steps = {}, {}
  for i, x in ipairs(p.operands) do
    local op = p.named and p.named[i].op
    if reduce.ops[op] then
      args[i] = reduce.parts(variant, p, op)
      steps[#steps + 1] = reduce.step(args[i], x, op, stream)
    else
      args[i] = x
    end
  end
  return args, steps
end

return M
