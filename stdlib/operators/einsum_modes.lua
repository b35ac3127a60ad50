-- einsum_modes.lua: the modes of tensors that are multiplied, by name, and the product of matrices
-- that a contraction is: modes of A and C are rows (m), of B and C columns (n), of all three
-- batches (l), and what C does not have is summed (k).
--
-- A term is a tensor with names: {tensor =, names = {...}, extent = {name =}, stride = {name =}}. A
-- name that is there twice means the diagonal. A mode of extent 1 goes with any extent.
local arguments = require "cuttle.arguments"
local tiles = require "cuttle.tiles"
local M = {}

-- One more mode of a name that the term has: the diagonal of both.
local function add_diagonal(op, term, name, extent, stride, what)
  if term.extent[name] ~= extent then
    tiles.fail(op, "mode '%s' of %s has the extents %d and %d; a diagonal needs equal ones", name,
      what, term.extent[name], extent)
  end
  term.stride[name] = term.stride[name] + stride
end

--- The term of a tensor whose modes have these names. `what` is the tensor's name in messages.
function M.term(op, x, names, what)
  local t = arguments.describe(op, x, what)
  local term = { tensor = x, what = what, names = {}, extent = {}, stride = {} }
  for i, name in ipairs(names) do
    if term.extent[name] then
      add_diagonal(op, term, name, t.extent[i], t.stride[i], what)
    else
      term.names[#term.names + 1] = name
      term.extent[name], term.stride[name] = t.extent[i], t.stride[i]
    end
  end
  return term
end

--- The extent of each name in these terms. Where a term has extent 1 and another one more, its
--- stride becomes 0.
function M.extents(op, terms)
  local extents, from = {}, {}
  for _, term in ipairs(terms) do
    for _, name in ipairs(term.names) do
      local n, known = term.extent[name], extents[name]
      if known == nil or known == 1 then
        extents[name], from[name] = n, term.what
      elseif n ~= known and n ~= 1 then
        tiles.fail(op, "mode '%s' has extent %d in %s and %d in %s", name, known, from[name], n,
          term.what)
      end
    end
  end
  for _, term in ipairs(terms) do
    for _, name in ipairs(term.names) do
      if term.extent[name] == 1 then term.stride[name] = 0 end
      term.extent[name] = extents[name]
    end
  end
  return extents
end

-- {====== The product ======

-- Which side of the product a mode is of.
local function side_of(name, a, b, c)
  if c.extent[name] == nil then return "k" end
  if a.extent[name] == nil then return "n" end
  return b.extent[name] == nil and "m" or "l"
end

-- By which strides the modes of a side are sorted.
local sides <const> =
  { m = { "c", "a" }, n = { "c", "b" }, l = { "c", "a", "b" }, k = { "a", "b" } }

local function is_before(x, y, order)
  for _, of in ipairs(order) do
    if x[of] ~= y[of] then return x[of] < y[of] end
  end
  return false
end

-- Modes that go on from each other in all terms become one.
local function joined(modes)
  local out = {}
  for _, mode in ipairs(modes) do
    local last = out[#out]
    local function goes_on(of) return last[of] * last.extent == mode[of] end
    if last and goes_on "a" and goes_on "b" and goes_on "c" then
      last.extent = last.extent * mode.extent
    else
      out[#out + 1] = mode
    end
  end
  return out
end

-- The modes of one side, as few as may be, those first that are adjacent in C (k: in A).
local function folded(names, extents, terms, order)
  local modes = {}
  for _, name in ipairs(names) do
    if extents[name] ~= 1 then
      local mode = { extent = extents[name] }
      for of, term in pairs(terms) do mode[of] = term.stride[name] or 0 end
      modes[#modes + 1] = mode
    end
  end
  table.sort(modes, function(x, y) return is_before(x, y, order) end)
  return joined(modes)
end

local function product_of(modes)
  local n = 1
  for _, mode in ipairs(modes) do n = n * mode.extent end
  return n
end

--- The contraction of two terms to a third as a product: the modes of each side m, n, k and l, as
--- {extent =, a =, b =, c =} with the strides of the terms; their names, and size.m and so on.
function M.product(a, b, c, extents)
  local p = { names = { m = {}, n = {}, k = {}, l = {} }, size = {} }
  local seen = {}
  for _, term in ipairs { a, b } do
    for _, name in ipairs(term.names) do
      local list = p.names[side_of(name, a, b, c)]
      if not seen[name] then list[#list + 1] = name end
      seen[name] = true
    end
  end
  for side, order in pairs(sides) do
    p[side] = folded(p.names[side], extents, { a = a, b = b, c = c }, order)
    p.size[side] = product_of(p[side])
  end
  return p
end

-- {====== Products apart ======

local MOST_APART <const> = 16

--- What each product apart must have at least, or it is not worth a launch; tests change it.
M.least_flops = 2 ^ 32

-- The modes of a list after the first, added to others; a list of the first.
local function first_of(list, others)
  table.move(list, 2, #list, #others + 1, others)
  return { list[1] }
end

-- All places in modes, as offsets in the terms.
local function offsets_of(modes)
  local list = { { a = 0, b = 0, c = 0 } }
  for _, mode in ipairs(modes) do
    local more = {}
    for i = 0, mode.extent - 1 do
      for _, at in ipairs(list) do
        more[#more + 1] = { a = at.a + i * mode.a, b = at.b + i * mode.b, c = at.c + i * mode.c }
      end
    end
    list = more
  end
  return list
end

--- A product with modes of modes in C, as a few large products without: the product of each, and
--- the offsets {a =, b =, c =} of their terms. The longest of the outer modes are batches. nil: C
--- has none, or there would be many, or small ones.
function M.apart(p)
  if #p.m <= 1 and #p.n <= 1 and #p.l <= 1 then return nil end
  local outer = table.move(p.l, 1, #p.l, 1, {})
  local q = { m = first_of(p.m, outer), n = first_of(p.n, outer), k = p.k, size = {} }
  table.sort(outer, function(x, y) return x.extent > y.extent end)
  q.l = { table.remove(outer, 1) }
  for _, side in ipairs { "m", "n", "k", "l" } do q.size[side] = product_of(q[side]) end
  local n, s = product_of(outer), q.size
  if n > MOST_APART or 2.0 * s.m * s.n * s.k * s.l < M.least_flops then return nil end
  return q, offsets_of(outer)
end

-- Extents and strides of modes in the term `of`: integers for one or none.
local function mode_of(modes, of)
  if #modes == 0 then return 1, 0 end
  if #modes == 1 then return modes[1].extent, modes[1][of] end
  local shape, stride = {}, {}
  for i, mode in ipairs(modes) do shape[i], stride[i] = mode.extent, mode[of] end
  return shape, stride
end

--- The tensor of the term `of` ("a", "b" or "c") of a product, its modes by lists of modes, from
--- an offset on, or from the beginning.
function M.view(of, tensor, lists, offset)
  local shape, stride = {}, {}
  for i, list in ipairs(lists) do shape[i], stride[i] = mode_of(list, of) end
  return view(tensor, layout(shape, stride), offset)
end

--- All modes of the result, as few as may be, those first that are adjacent in it.
function M.elements(p)
  local all = {}
  for _, side in ipairs { "m", "n", "l" } do table.move(p[side], 1, #p[side], #all + 1, all) end
  table.sort(all, function(x, y) return is_before(x, y, sides.l) end)
  return joined(all)
end

return M
