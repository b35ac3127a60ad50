-- derive.lua: how a layout came about, as lines of text: each operation that made it, from the
-- first operand on, with the intermediate results that the operation's definition names.
local each_leaf = require "cuttle.each_leaf"
local integers = require "cuttle.integers"
local language = require "cuttle"
local types = require "cuttle.types"

local M = {}

-- One function for each operation: (result, operands...) -> lines that say how it works on these.
local steps = {}

local function line(lines, format, ...)
  lines[#lines + 1] = format:format(...)
end

-- The tiler as a layout, where it acts on the whole operand.
local function whole(tiler)
  local text = tostring(tiler)
  if text == "_" or text:find("<", 1, true) then
    return nil
  end
  if text:find(":", 1, true) or not text:find("(", 1, true) then
    return layout(tiler)
  end
  return nil
end

-- The text of each item of a by-mode tiler: "<2:1,(3,4)>" -> {"2:1", "(3,4)"}.
function M.items(tiler)
  local text, out, depth, first = tostring(tiler):match("^.(.*).$"), {}, 0, 1
  for at = 1, #text + 1 do
    local c = text:sub(at, at)
    if c == "(" or c == "<" then
      depth = depth + 1
    elseif c == ")" or c == ">" then
      depth = depth - 1
    elseif depth == 0 and (c == "," or c == "") then
      out[#out + 1] = text:sub(first, at - 1)
      first = at + 1
    end
  end
  return out
end

-- Calls `each` with every mode of `a` that the tiler reaches and its item, or with all of `a`.
local function by_mode(a, tiler, each)
  local tile = whole(tiler)
  if tile or tostring(tiler) == "_" then
    each("", a, tile)
    return
  end
  for i, item in ipairs(M.items(tiler)) do
    each(("mode %d: "):format(i - 1), get_mode(a, i - 1), whole(item))
  end
end

local function composed(lines, prefix, a, b)
  if b == nil then
    line(lines, "%skept as it is", prefix)
    return
  end
  for i = 0, rank(b) - 1 do
    local part = get_mode(b, i)
    line(lines, "%s%s o %s = %s", prefix, a, part, composition(a, part))
  end
end

function steps.composition(lines, _, a, b)
  if tostring(a):find("^%s*Sw?<[^o]*$") then
    line(lines, "result(c) = A(B(c)): %s swizzles each index of B", a)
    return
  end
  line(lines, "result(c) = A(B(c)), mode by mode of B")
  if type(b) == "string" or rank(a) >= 1 then
    by_mode(a, b, function(prefix, part, tile) composed(lines, prefix, part, tile) end)
  end
end

-- Tiles end inside a mode of a, which then counts as long as whole tiles are.
local function padded(lines, prefix, a, tile)
  local pair = logical_divide(a, tile)
  line(lines, "%s%s ends inside a mode of %s, which counts as padded to whole tiles", prefix, tile,
    a)
  line(lines, "%stile: %s", prefix, get_mode(pair, 0))
  line(lines, "%srest: %s", prefix, get_mode(pair, 1))
end

local function divided(lines, prefix, a, tile)
  if tile == nil then
    line(lines, "%sa mode under _ stays whole", prefix)
    return
  end
  local rest = complement(tile, shape(coalesce(a)))
  if not pcall(composition, a, rest) then return padded(lines, prefix, a, tile) end
  line(lines, "%stile: %s o %s = %s", prefix, a, tile, composition(a, tile))
  line(lines, "%srest: %s o %s = %s, where %s = complement(%s, %s)", prefix, a, rest,
    composition(a, rest), rest, tile, shape(coalesce(a)))
end

-- The steps of the functions that are named: `step` mode by mode, then how they arrange the modes.
local function add_steps(arranged, step)
  for name, how in pairs(arranged) do
    steps[name] = function(lines, _, a, tiler)
      by_mode(a, tiler, function(prefix, part, tile) step(lines, prefix, part, tile) end)
      line(lines, "%s", how)
    end
  end
end

add_steps({
  logical_divide = "each mode becomes (tile, rest)",
  zipped_divide = "the tiles are gathered in mode 0, the rests in mode 1",
  tiled_divide = "the tiles are gathered in mode 0, each rest is a mode of its own",
  flat_divide = "the parts of the tile come first, then the rests, all modes of their own",
}, divided)

local function multiplied(lines, prefix, a, tile)
  if tile == nil then
    return
  end
  local rest = complement(a, size(a) * cosize(tile))
  line(lines, "%scopies: %s o %s = %s, where %s = complement(%s, %d)", prefix, rest, tile,
    composition(rest, tile), rest, a, size(a) * cosize(tile))
end

add_steps({
  logical_product = "each mode becomes (block, copies)",
  zipped_product = "the blocks are gathered in mode 0, the copies in mode 1",
  tiled_product = "the blocks are gathered in mode 0, each mode of copies is one of its own",
  flat_product = "the parts of the block come first, then the copies, all modes of their own",
  blocked_product = "mode by mode: (block, copies), so blocks stay together",
  raked_product = "mode by mode: (copies, block), so blocks interleave",
}, multiplied)

function steps.complement(lines, result, a, cotarget)
  line(lines, "copies of %s that begin at the indices of %s fill %s, none overlap", a, result,
    cotarget and ("all below %d"):format(size(cotarget)) or "its gaps")
end

function steps.coalesce(lines)
  line(lines, "neighbouring modes n:d, m:(n*d) merge into (n*m):d; modes of size 1 go")
end

function steps.filter(lines)
  line(lines, "modes of stride 0 or size 1 go, the others coalesce")
end

function steps.right_inverse(lines, result, a)
  line(lines, "A(result(i)) = i for the first %d indices of %s", size(result), a)
end

function steps.left_inverse(lines, _, a)
  line(lines, "result(A(i)) = i for each coordinate i of %s", a)
end

function steps.tv_layout(lines, _, threads, values)
  local product = raked_product(threads, values)
  line(lines, "raked_product(threads, values) = %s lays the threads' blocks over the tile", product)
  line(lines, "its right_inverse %s, split into (threads, values)", right_inverse(product))
end

function steps.tile(lines, _, a, tiler, coord, projection)
  if projection == nil then
    line(lines, "zipped_divide(%s, %s) = %s", a, tiler, zipped_divide(a, tiler))
    line(lines, "its mode 0, the tile, is kept; tile number %s of mode 1 is picked", coord)
  else
    line(lines, "the modes under _ in %s are taken out of tiler %s and coordinate %s", projection,
      tiler, coord)
    line(lines, "then the tile at that coordinate is kept")
  end
end

function steps.parallelize(lines, _, a, threads, _, projection)
  line(lines, "tiles of %s, the shape of the %d threads %s%s", shape(threads), size(threads),
    threads, projection and (", modes under _ in " .. tostring(projection) .. " left out") or "")
  line(lines, "each thread keeps its element of every tile of %s", a)
end

-- The integers of a layout as texts like "4:1".
local function leaves_of(layout)
  local texts = {}
  layout = layout.swizzle and layout.layout or layout
  each_leaf(layout.shape, layout.stride, function(_, extent, stride)
    texts[#texts + 1] = ("%s:%s"):format(extent, stride)
  end)
  return texts
end

-- The modes that an operation changed, where it keeps the nesting.
local function changed(lines, a, result)
  local before, after = leaves_of(layout(a)), leaves_of(result)
  local texts = {}
  for i, text in ipairs(before) do
    if text ~= after[i] then texts[#texts + 1] = ("%s becomes %s"):format(text, after[i]) end
  end
  if #texts > 0 then line(lines, "%s", table.concat(texts, ", ")) end
end

function steps.upcast(lines, result, a, n)
  line(lines, "%d elements become one: steps are divided by %d, smaller ones become 1 with fewer "
    .. "elements", n, n)
  changed(lines, a, result)
end

function steps.downcast(lines, result, a, n)
  line(lines, "one element becomes %d: a contiguous mode gets longer, all other steps larger", n)
  changed(lines, a, result)
end

local function bits_of(x)
  return types.is_a(x, "dtype") and x.bits or math.tointeger(tonumber(tostring(x)))
    or language[x].bits
end

function steps.recast(lines, result, a, from, to)
  from, to = bits_of(from), bits_of(to)
  local larger, smaller = to // integers.gcd(from, to), from // integers.gcd(from, to)
  local call = tostring(a)
  call = larger > 1 and ("upcast(%s, %d)"):format(call, larger) or call
  call = smaller > 1 and ("downcast(%s, %d)"):format(call, smaller) or call
  line(lines, "elements of %d bits in place of %d: %s", to, from, call)
  changed(lines, a, result)
end

function steps.tile_to_shape(lines, _, a, shape, order)
  a, shape = layout(a), layout(shape)
  local counts, path = {}, "down the first mode, then along the next"
  if tostring(order) == "right" then
    path = "along the last mode, then along the one before"
  elseif order ~= nil then
    path = ("in the order %s of the modes"):format(order)
  end
  for i = 0, rank(shape) - 1 do
    counts[i + 1] = size(shape, i) // (i < rank(a) and size(a, i) or 1)
  end
  line(lines, "copies of %s, %s of them, fill the shape; they follow each other %s", a,
    table.concat(counts, " x "), path)
end

function steps.nullspace(lines, result, a)
  line(lines, "A(result(i)) = 0 for each of the %d coordinates that %s leads to 0", size(result), a)
end

-- "Sw<3,0,3>": which bits of an index change, and by which. It reads the field at M + S where
-- S > 0, else the one at M.
function M.swizzle_text(swizzle)
  local bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
  local function range(first)
    return bits == 1 and ("bit %d"):format(first) or
      ("bits %d..%d"):format(first, first + bits - 1)
  end
  return ("%s of the index %s xored into %s"):format(range(base + math.max(shift, 0)),
    bits == 1 and "is" or "are", range(base + math.max(-shift, 0)))
end

-- Details help; where the definition's parts cannot be formed again (run-time extents) there are
-- none.
local function details(result, op, ...)
  local lines = {}
  if steps[op] == nil or not pcall(steps[op], lines, result, ...) then
    return {}
  end
  return lines
end

local function call_text(op, ...)
  local args = {}
  for i = 1, select("#", ...) do
    args[i] = tostring((select(i, ...)))
  end
  return ("%s(%s)"):format(op, table.concat(args, ", "))
end

local function add(out, layout, op, first, ...)
  if op == nil then
    return
  end
  if types.is_a(first, "layout") then
    add(out, first, first:origin())
  end
  out[#out + 1] = {
    call = call_text(op, first, ...),
    result = tostring(layout),
    details = details(layout, op, first, ...),
  }
end

-- The steps that led to a layout, first one first: { call =, result =, details = {lines} }.
function M.steps(layout)
  local out = {}
  add(out, layout, layout:origin())
  return out
end

return M
