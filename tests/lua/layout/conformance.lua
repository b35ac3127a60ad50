-- The rows of tests/conformance through the bindings: text in, text out, as functions and, where a
-- row's operand is a layout, as methods of it.
local FOLDER <const> = "tests/conformance/"

local function text(v)
  return type(v) == "table" and getmetatable(v) == nil and table.concat(v, ",") or tostring(v)
end

local function method(name, ...)
  local f = _G[name]
  local args = table.pack(...)
  return function(row)
    local values = { n = args.n }
    for i = 1, args.n do
      values[i] = row[args[i]]
    end
    local result, second = f(table.unpack(values, 1, args.n))
    if args[1] == "a" and type(row.a) == "string" and row.a:find(":") then
      local l = L(row.a)
      local again = l[name](l, table.unpack(values, 2, args.n))
      assert(text(again) == text(result), name .. ": method and function differ")
    end
    return result, second
  end
end

-- Rows with other fields than the operation's arguments in order.
local ops = {
  make_layout = method("layout", "shape"),
  make_layout_right = method("row_major", "shape"),
  make_ordered_layout = method("ordered", "shape", "order"),
  make_layout_like = method("layout_like", "a"),
  make_fragment_like = method("fragment_layout_like", "a"),
  make_layout_tv = function(row)
    local tv, tiler = tv_layout(row.thr, row.val)
    assert(tostring(tiler) == row.tiler, "tile's shape is " .. tostring(tiler))
    return tv
  end,
  crd2idx = function(row) return crd2idx(row.crd, row.a or row.shape) end,
  idx2crd = function(row) return idx2crd(row.idx, row.a or row.shape) end,
  crd2crd = method("crd2crd", "crd", "from", "to"),
  slice = function(row)
    local l, offset = slice_and_offset(row.crd, row.a)
    assert(l == slice(row.crd, row.a) and l == L(row.a):slice(row.crd))
    return l, offset
  end,
  dice = function(row) return dice(row.crd, row.a) end,
  select = function(row) return select(L(row.a), row.modes) end,
  mode = function(row) return mode(row.a, table.unpack(row.path)) end,
  concat = function(row) return concat(table.unpack(row.layouts)) end,
  local_tile = function(row) return tile(L(row.a), row.tiler, row.crd, row.proj) end,
  local_partition = function(row) return parallelize(L(row.a), row.thr, row.idx, row.proj) end,
}
local arguments = {
  size = "a", cosize = "a", rank = "a", depth = "a", values = "a", flatten = "a",
  filter_zeros = "a", right_inverse = "a", left_inverse = "a", nullspace = "a",
  coalesce = "a profile", filter = "a profile", complement = "a cotarget",
  composition = "a b", max_common_vector = "a b", max_common_layout = "a b",
  logical_divide = "a b", zipped_divide = "a b", tiled_divide = "a b", flat_divide = "a b",
  logical_product = "a b", zipped_product = "a b", tiled_product = "a b", flat_product = "a b",
  blocked_product = "a b", raked_product = "a b", tile_to_shape = "a shape order",
  domain_distribute = "shape n", upcast = "a n", downcast = "a n",
  recast = "a from_bits to_bits", compact_col_major = "shape start",
  compact_row_major = "shape start", compact_order = "shape order",
  group = "a first last", take = "a first last", append = "a x n", prepend = "a x n",
  replace = "a i x", congruent = "a b", weakly_congruent = "a b", compatible = "a b",
  evenly_divides = "a b", lex_less = "a b", colex_less = "a b", elem_less = "a b",
}
for name, fields in pairs(arguments) do
  local list = {}
  for field in fields:gmatch("%S+") do
    list[#list + 1] = field
  end
  ops[name] = method(name, table.unpack(list))
end

local function is_function(v, want_fn)
  if not want_fn then
    return false
  end
  local ok, list = pcall(values, v)
  return ok and table.concat(list, ",") == table.concat(want_fn, ",")
end

local function matches(row, result, offset)
  if text(result) == text(row.want) then
    return row.offset == nil or offset == nil or offset == row.offset
  end
  return is_function(result, row.want_fn) or (row.alt ~= nil and text(result) == text(row.alt))
    or (row.cute ~= nil and text(result) == text(row.cute))
end

-- left_inverse is any layout with L(A(i)) == A^-1: the values outside the image of A are free.
local function is_left_inverse(row, result)
  local a = row.op == "left_inverse" and L(row.a)
  for i = 0, a and size(a) - 1 or -1 do
    if a(result(a(i))) ~= a(i) then
      return false
    end
  end
  return a and true
end

local function check(row)
  local ok, result, offset = pcall(ops[row.op], row)
  if row.error or row.tag == "quirk" or row.tag == "past_end" or row.tag == "negative_stride" then
    if not ok then
      return true
    end
    return (not row.error or row.lenient) and matches(row, result, offset) or nil, text(result)
  end
  if not ok then
    return nil, result
  end
  return matches(row, result, offset) or is_left_inverse(row, result), text(result)
end

local n_files = 0
for _, name in ipairs { "algebra", "modes", "predicates", "divide_product", "coords",
  "tensor_partition" } do
  local n, n_failed = 0, 0
  for i, row in ipairs(dofile(FOLDER .. name .. ".lua")) do
    if ops[row.op] then
      n = n + 1
      local passed, got = check(row)
      if not passed then
        n_failed = n_failed + 1
        print(("# row %d: %s %s: %s; expected %s"):format(i, row.op, row.a or row.shape or "",
          tostring(got), text(row.want)))
      end
    end
  end
  n_files = n_files + 1
  print(("%sok %d - %s: %d rows"):format(n_failed > 0 and "not " or "", n_files, name, n))
end
print("1.." .. n_files)
