-- conformance.lua: runs the rows of a folder of conformance vectors through the language.
--   cuttle scripts/conformance.lua FOLDER
-- Every .lua file of the folder returns a list of rows; tests/conformance/README.md says what a row
-- is and when it passes. Where a row's first operand is a layout, the function and the method must
-- give the same. Lists each row that fails; the last line is `N passed, N failed`, and the exit
-- status is 1 when a row failed or none was there.

local ct = require "cuttle"

-- {====== Operations: from a row to the result and, of a part, its offset ======

local function text(v)
  local is_list = type(v) == "table" and getmetatable(v) == nil
  return is_list and table.concat(v, ",") or tostring(v)
end

-- Calls the function `name` with `first` and the row's fields, and its method if there is one. Some
-- are methods only.
local function both(name, first, row, fields)
  local args = { n = #fields }
  for i, field in ipairs(fields) do
    args[i] = row[field]
  end
  if not ct[name] then
    local l = ct.layout(first)
    return l[name](l, table.unpack(args, 1, args.n))
  end
  local result, second = ct[name](first, table.unpack(args, 1, args.n))
  local object = type(first) == "string" and first:find(":", 1, true) and ct.L(first) or first
  if type(object) == "userdata" then
    local again = object[name](object, table.unpack(args, 1, args.n))
    assert(text(again) == text(result), "the method gives " .. text(again))
  end
  return result, second
end

-- Operations whose arguments are fields of the row: the name in the language, if it is another one,
-- then the fields.
local plain = {
  make_layout = "layout: shape", make_layout_right = "row_major: shape",
  make_ordered_layout = "ordered: shape order", make_layout_like = "layout_like: a",
  make_fragment_like = "fragment_layout_like: a", compact_col_major = "shape start",
  compact_row_major = "shape start", compact_order = "shape order", size = "a", cosize = "a",
  rank = "a", depth = "a", values = "a", flatten = "a", filter_zeros = "a", right_inverse = "a",
  left_inverse = "a", nullspace = "a", coalesce = "a profile", filter = "a profile",
  complement = "a cotarget", composition = "a b", max_common_vector = "a b",
  max_common_layout = "a b", logical_divide = "a b", zipped_divide = "a b", tiled_divide = "a b",
  flat_divide = "a b", logical_product = "a b", zipped_product = "a b", tiled_product = "a b",
  flat_product = "a b", blocked_product = "a b", raked_product = "a b",
  tile_to_shape = "a shape order", domain_distribute = "shape n", upcast = "a n",
  downcast = "a n", recast = "a from_bits to_bits", group = "group_modes: a first last",
  take = "a first last", append = "a x n", prepend = "a x n", replace = "a i x",
  mode = "get_mode: a path", congruent = "a b",
  weakly_congruent = "a b", compatible = "a b", evenly_divides = "a b", lex_less = "a b",
  colex_less = "a b", elem_less = "a b", crd2crd = "crd from to",
  make_swizzle = "swizzle_from_masks: y z", swizzle_compose = "composition: sw sw2",
  swizzle_recast = "recast: sw from_bits to_bits",
}

local ops = {}
for op, how in pairs(plain) do
  local name, rest = how:match("^([%w_]+): (.*)$")
  local fields = {}
  for field in (rest or how):gmatch("%S+") do
    fields[#fields + 1] = field
  end
  local first = table.remove(fields, 1)
  ops[op] = function(row, a)
    return both(name or op, a or row[first], row, fields)
  end
end

-- A layout or shape: what an index belongs to.
local function crd2idx(row, a)
  return ct.crd2idx(row.crd, a or row.a or row.shape)
end
ops.crd2idx, ops.at = crd2idx, crd2idx

function ops.idx2crd(row)
  return ct.idx2crd(row.idx, row.a or row.shape)
end

function ops.slice(row, a)
  a = a or ct.L(row.a)
  local part, offset = ct.slice_and_offset(row.crd, a)
  assert(part == ct.slice(row.crd, a) and part == a:slice(row.crd), "slice and method differ")
  return part, offset
end

function ops.dice(row, a)
  return ct.dice(row.crd, a or row.a)
end

function ops.select(row, a) -- of a text it is Lua's own
  return both("select", a or ct.L(row.a), row, { "modes" })
end

function ops.concat(row)
  return ct.concat(table.unpack(row.layouts))
end

function ops.local_tile(row, a)
  return both("tile", a or ct.L(row.a), row, { "tiler", "crd", "proj" })
end

function ops.local_partition(row, a)
  return both("parallelize", a or ct.L(row.a), row, { "thr", "idx", "proj" })
end

function ops.make_layout_tv(row)
  local tv, tiler = ct.tv_layout(row.thr, row.val)
  assert(text(tiler) == row.tiler, "the tile's shape is " .. text(tiler))
  return tv
end

-- ((thread, values), rest), the thread fixed
function ops.tv_partition(row, a)
  local tiles = ct.zipped_divide(a or row.a, row.tiler)
  local owned = ct.composition(tiles, { ct.L(row.tv), ct._ })
  return ct.slice_and_offset({ { row.idx, ct._ }, ct._ }, owned)
end

function ops.swizzle_apply(row)
  local sw, list = ct.swizzle(row.sw), {}
  for i, x in ipairs(row.x) do
    list[i] = sw(x)
  end
  return list
end

function ops.composition_with_swizzled(row)
  return ct.composition(row.a, ct.composition(row.sw, row.b))
end

-- The values of a part, from where it begins: its form is free.
local function absolute_values(part, offset)
  local list = part:values()
  for i, v in ipairs(list) do
    list[i] = v + offset
  end
  return list
end

-- composed_X is X on a swizzled layout.
local function composed(op)
  local name = op:match("^composed_(.*)$")
  local run = ops[name]
  return run and function(row)
    local result, offset = run(row, ct.composition(row.sw, row.offset or 0, row.a))
    return name == "slice" and absolute_values(result, offset) or result
  end
end

-- {====== Atoms: from a row to what the table says, by field of the row ======

local function atom_of(row)
  return ct.atom(row.bytes and ("%s<u%d>"):format(row.name, 8 * row.bytes) or row.name)
end

local facts = {}

function facts.mma_atom(row)
  local a = atom_of(row)
  return { shape = a.shape, threads = a.threads, thr_id = a.thr_id, layout_a = a.layout_a,
           layout_b = a.layout_b, layout_c = a.layout_c, bits_a = a.bits.a, bits_b = a.bits.b,
           bits_c = a.bits.c, bits_d = a.bits.d }
end

-- CuTe's layouts of scales count elements of K, which share a scale; ours count the scales.
local function by_elements(a, letter)
  local l = a["layout_" .. letter]
  return ct.concat(ct.get_mode(l, 0), ct.layout(a.shape[3], ct.stride(l, 1)))
end

function facts.mma_scales(row)
  local a = atom_of(row)
  local n = ct.size(a.layout_sfa, 1)
  return { sf_vec_size = a.sf_vec_size, layout_sfa = by_elements(a, "sfa"),
           layout_sfb = by_elements(a, "sfb"), bytes_sfa = n * a.bits.sfa // 8,
           bytes_sfb = n * a.bits.sfb // 8 }
end

function facts.mma_element(row)
  local a = atom_of(row)
  local index, rows = a["layout_" .. row.operand](row.thr, row.val),
    a.shape[row.operand == "b" and 2 or 1]
  return { index = index, row = index % rows, col = index // rows }
end

function facts.gmma_c_layout(row)
  return { want = ct.atom(("SM90_64x%dx16_F32F16F16_SS"):format(row.n)).layout_c }
end

local of_bits = { [8] = ct.u8, [16] = ct.f16, [32] = ct.f32 }

function facts.gmma_smem_atom(row)
  local layout = ct.smem_atom(row.name, of_bits[row.bits])
  local sw = layout.swizzle or ct.swizzle(row.sw) -- of no bits: the layout is plain
  return { layout = layout.layout or layout, sw = sw, want_fn = layout:values() }
end

function facts.copy_atom(row)
  local a = atom_of(row)
  return { threads = a.threads, thr_id = a.thr_id, src = a.src, dst = a.dst, ref = a.ref,
           bits = a.bits, bytes = row.bytes and a.bytes }
end

function facts.copy_bit(row)
  return { want = atom_of(row)[row.side](row.thr, row.val) }
end

-- Matrices of 8 rows of 8 elements of 16 bits; the registers are on the side without addresses.
function facts.matrix_element(row)
  local a = atom_of(row)
  local bit = a[a.family == "stmatrix" and "src" or "dst"](row.thr, 16 * row.elem)
  return { matrix = bit // 1024, row = bit % 1024 // 128, col = bit % 128 // 16 }
end

-- Fields of the row that the table has otherwise, as text; "" when there is none.
local function differences(row, found)
  local list = {}
  for field, value in pairs(found) do
    if text(value) ~= text(row[field]) then
      list[#list + 1] = ("%s is %s"):format(field, text(value))
    end
  end
  table.sort(list)
  return table.concat(list, ", ")
end

for op, find in pairs(facts) do
  ops[op] = function(row) return differences(row, find(row)) end
end

-- {====== When a row passes ======

local function is_function(v, list)
  local ok, all = pcall(function() return ct.layout(v):values() end)
  return ok and text(all) == text(list)
end

-- Does the result have the text in `field`, and the offset in `offset_field` where it has one?
local function is_text(row, field, offset_field, result, offset)
  local same = row[field] ~= nil and text(result) == text(row[field])
  return same and (offset == nil or row[offset_field] == nil or offset == row[offset_field])
end

local function is_wanted(row, result, offset)
  if is_text(row, "want", "offset", result, offset) then
    return true
  end
  local same_offset = offset == nil or row.offset == nil or offset == row.offset
  return row.want_fn ~= nil and same_offset and is_function(result, row.want_fn)
end

local function is_alternative(row, result, offset)
  return is_text(row, "alt", row.alt_offset and "alt_offset" or "offset", result, offset)
end

-- Outside the image of a the values of its left inverse are free.
local function is_left_inverse(row, result)
  if row.op ~= "left_inverse" then
    return false
  end
  local a = ct.L(row.a)
  for i = 0, ct.size(a) - 1 do
    if a(result(a(i))) ~= a(i) then
      return false
    end
  end
  return true
end

-- `ok`: the operation was not refused.
local function passes(row, ok, result, offset)
  if facts[row.op] then
    return ok and result == ""
  elseif row.error then
    return not ok or (row.lenient and row.want_fn ~= nil and is_function(result, row.want_fn))
  elseif row.tag == "quirk" then
    return not ok or is_text(row, "cute", "cute_offset", result, offset)
      or (row.want_fn ~= nil and is_function(result, row.want_fn))
      or is_alternative(row, result, offset)
  elseif row.tag == "past_end" then
    return ok and (is_wanted(row, result, offset) or is_alternative(row, result, offset))
      or (not ok and row.alt == nil)
  end
  return ok and (is_wanted(row, result, offset) or is_left_inverse(row, result))
end

-- Negative strides are layouts here, but complement and the inverses refuse them, as the README
-- allows.
local function is_allowed_to_refuse(row, ok)
  return not ok and row.tag == "negative_stride"
    and (row.op == "complement" or row.op:find("_inverse$") ~= nil)
end

-- {====== Running ======

local n_passed, n_failed, n_refused = 0, 0, 0
local not_inputs = { op = true, want = true, want_fn = true, tag = true, why = true, cute = true,
  cute_offset = true, alt = true, alt_offset = true, error = true, lenient = true }

local function inputs(row)
  local list = {}
  for field, v in pairs(row) do
    if not not_inputs[field] then
      list[#list + 1] = ("%s=%s"):format(field, text(v))
    end
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function wanted(row)
  if row.error then
    return "an error" .. (row.why and (" (%s)"):format(row.why) or "")
  end
  local offset = row.offset ~= nil and " at " .. text(row.offset) or ""
  return text(row.want == nil and row.want_fn or row.want) .. offset
end

local function fail(place, format, ...)
  n_failed = n_failed + 1
  print(("%s: " .. format):format(place, ...))
end

local function run_row(place, row)
  local op = type(row) == "table" and row.op
  local run = ops[op] or (type(op) == "string" and composed(op))
  if not run then
    return fail(place, "no operation '%s'", text(op))
  end
  local ok, result, offset = pcall(run, row)
  local judged, passed = pcall(passes, row, ok, result, offset)
  if judged and passed then
    n_passed = n_passed + 1
  elseif is_allowed_to_refuse(row, ok) then
    n_refused = n_refused + 1
  else
    fail(place, "%s %s: want %s, got %s%s", op, inputs(row), wanted(row),
      ok and text(result) or "error: " .. tostring(result), offset and " at " .. text(offset) or "")
  end
end

local function run_file(folder, name)
  local chunk, message = loadfile(folder .. "/" .. name, "t", {}) -- data: it sees no functions
  local ok, rows = pcall(chunk or error, message)
  if not ok or type(rows) ~= "table" then
    return fail(name, "no list of rows: %s", tostring(rows))
  end
  for i, row in ipairs(rows) do
    run_row(("%s row %d"):format(name, i), row)
  end
end

local function files_of(folder)
  local pipe = assert(io.popen("ls -- '" .. folder:gsub("'", "'\\''") .. "'"))
  local names = {}
  for name in pipe:lines() do
    if name:find("%.lua$") then
      names[#names + 1] = name
    end
  end
  pipe:close()
  return names
end

local function report()
  if n_refused > 0 then
    print(("%d skipped: complement and inverses refuse negative strides"):format(n_refused))
  end
  print(("%d passed, %d failed"):format(n_passed, n_failed))
end

if not arg[1] then
  io.stderr:write("usage: cuttle scripts/conformance.lua FOLDER|FILE...\n")
  os.exit(1)
end
for _, path in ipairs(arg) do
  local folder, name = path:match("^(.*)/([^/]+%.lua)$")
  for _, file in ipairs(name and { name } or files_of(path)) do
    run_file(folder or path, file)
  end
end
report()
os.exit(n_failed == 0 and n_passed > 0 and 0 or 1, true)
