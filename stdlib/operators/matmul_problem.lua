-- matmul_problem.lua: the arguments of matmul, checked, and the product that they ask for in its
-- canonical form: C (M,N,L) = A (M,K,L) B (N,K,L)', each mode with one stride if it is not nested,
-- C contiguous along M. A and B change places for a C that is contiguous along N. Fields of it:
--   A, B, C, m, n, k, l, dtype, c_dtype, device  the tensors so, extents, types
--   sum, work        types: of the sums; of alpha, beta and what an epilogue is given
--   a_major, b_major what is contiguous: "mn" or "k"
--   swapped          A and B changed places
--   alpha, beta, bias (M,N,L), blocks  the options
--   epilogue, operands, named, glu     see matmul_epilogue.lua
--   pairs_C          of glu: C itself; C then has each of its columns twice
--   scales           see matmul_scales.lua
--   groups, rows, nested   see gemm_groups.lua, gemm_indexed.lua and gemm_nested.lua
local tiles = require "cuttle.tiles"
local arguments = require "cuttle.arguments"
local epilogues = require "cuttle.matmul_epilogue"
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local lists = require "cuttle.lists"
local nested = require "cuttle.gemm_nested"
local option_names = require "cuttle.option_names"
local configs = require "cuttle.matmul_choice"
local scales = require "cuttle.matmul_scales"
local M = {}

M.MAX_BATCHES = 65535 -- of a grid's z

local function fail(format, ...) tiles.fail("matmul", format, ...) end

local compute_types, float_types = {}, {} -- by element type

local function compute_type(dtype)
  local found = compute_types[dtype]
  if found == nil then
    found, float_types[dtype] = dtype.compute, dtype.is_float
    compute_types[dtype] = found
  end
  return found
end

local function is_float(dtype)
  compute_type(dtype)
  return float_types[dtype]
end

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Arguments ======

local modes_of <const> = { A = "(M,K) or (M,K,L)", B = "(N,K) or (N,K,L)", C = "(M,N) or (M,N,L)" }

local function check_operand(x, name)
  arguments.check_tensor("matmul", x, name, modes_of[name], "matmul launches kernels itself. "
    .. "Inside of one, multiply tiles by gemm")
  local rank = rank(x)
  if rank ~= 2 and rank ~= 3 then
    fail("%s is %s; expected %s", name, x.layout, modes_of[name])
  end
  if x.dtype == bool then fail("%s has elements bool; expected numbers", name) end
end

local known_options <const> = lists.set{ "alpha", "beta", "bias", "bits", "config", "epilogue",
  "gather", "glu", "groups", "operands", "outputs", "scale_a", "scale_b", "scatter", "split",
  "stream" }
known_options.blocks = option_names.whole(1)

-- What matmul knows of an operand: extents and strides of rows, columns and batches.
local function describe(x, name, takes_nested)
  local t = arguments.describe("matmul", x, name, takes_nested)
  if #t.extent == 2 then t.extent[3], t.stride[3] = 1, 0 end
  if t.nested then t.nested[3] = t.nested[3] or { 1, 0 } end
  return t
end

local function text_of(t) return tostring(shape(t.tensor)) end

local function check_extents(a, b, groups)
  if a.extent[2] ~= b.extent[2] then
    fail("A is %s and B is %s; K, mode 1 of both, must be equal: B is (N,K), so a (K,N) matrix is "
      .. "passed as its transposed view", text_of(a), text_of(b))
  elseif not groups and a.extent[3] ~= b.extent[3] and a.extent[3] ~= 1 and b.extent[3] ~= 1 then
    fail("A is %s and B is %s; the numbers of batches, mode 2, must be equal, or one of them 1",
      text_of(a), text_of(b))
  end
end

-- How many matrices C has.
local function batches_of(a, b, groups)
  if groups then return groups.mode == "k" and groups.n or 1 end
  if a.extent[3] == 0 or b.extent[3] == 0 then return 0 end
  return math.max(a.extent[3], b.extent[3])
end

local function check_result(a, b, c, options, groups, rows)
  local columns = options.glu and b.extent[1] // 2 or b.extent[1]
  local expected = { rows and (rows.scatter and c.extent[1] or rows.n) or a.extent[1], columns,
                     batches_of(a, b, groups) }
  for i = 1, 3 do
    if c.extent[i] ~= expected[i] then
      fail("C is %s; expected (%d,%d%s), as A is %s and B is %s", text_of(c), expected[1],
        expected[2], expected[3] ~= 1 and "," .. expected[3] or "", text_of(a), text_of(b))
    end
  end
end

local function check_types(a, b, c, options)
  local dtype, out = a.tensor.dtype, c.tensor.dtype
  if dtype ~= b.tensor.dtype then
    fail("A is %s but B is %s; the element types must be equal", dtype, b.tensor.dtype)
  end
  local sum = compute_type(dtype)
  if is_float(sum) and not is_float(out) then
    fail("C is %s, but sums of %s products are %s; expected a C of a float type", out, dtype, sum)
  elseif not is_float(out) and out.bits < sum.bits and not options.epilogue then
    fail("C is %s, too narrow for sums of %s products, which are %s; use a C of %s, or an "
      .. "epilogue that limits them to its range", out, dtype, sum, sum)
  end
end

local function check_places(a, b, c)
  local device = c.tensor.device
  for _, t in ipairs { a, b } do
    if t.tensor.device ~= device then
      fail("%s is on %s but C is on %s; expected all on one device", t.name, t.tensor.device,
        device)
    end
  end
  local flat = arguments.flat(c)
  arguments.check_distinct("matmul", flat)
  arguments.check_apart("matmul", flat, { arguments.flat(a), arguments.flat(b) })
end

-- {====== Alpha, beta and the epilogue ======

-- The type of alpha, beta and of what the epilogue is given: that of the sums or, where C's is
-- wider or a float and they are not, C's.
local function work_type(sum, out)
  local wide = compute_type(out)
  if is_float(sum) ~= is_float(out) then return wide end
  return wide.bits > sum.bits and wide or sum
end

local function to_factor(value, name, absent, work)
  if value == nil then value = absent end
  if type(value) ~= "number" then
    fail("%s is of type %s; expected a number", name, tiles.type_name(value))
  end
  if not is_float(work) and math.tointeger(value) == nil then
    fail("%s is %s, but the sums and C are integers (%s); expected an integer, or a C of a float "
      .. "type", name, value, work)
  end
  return value
end

-- The bias as an (M,N,L) tensor: of rank 1 it is one number for each n. Rows of C: `rows` if given.
local function to_bias(bias, c, groups, rows)
  if not is_tensor(bias) or bias.device == nil then
    fail("bias is of type %s; expected a tensor (N) or (M,N)", tiles.type_name(bias))
  end
  local t = describe(bias, "bias")
  local m, n, l = rows and rows.n or c.extent[1], c.extent[2], c.extent[3]
  local stride
  if rank(bias) == 1 and t.extent[1] == n then
    stride = { 0, t.stride[1], 0 }
  elseif rank(bias) > 1 and rank(bias) < 4 and t.extent[1] == m and t.extent[2] == n
    and (t.extent[3] == l or t.extent[3] == 1) then
    stride = { t.stride[1], t.stride[2], t.extent[3] == 1 and 0 or t.stride[3] }
  else
    fail("bias is %s; expected (%d), one number for each n, or (%d,%d), as C is %s", text_of(t), n,
      m, n, text_of(c))
  end
  if bias.device ~= c.tensor.device then
    fail("bias is on %s but C is on %s; expected all on one device", bias.device, c.tensor.device)
  end
  return view(bias, layout({ m, n, groups and groups.n or l }, stride))
end

-- {====== The canonical problem ======

-- The same as canonical, where not every mode has one stride.
local function canonical_nested(t, l)
  local rows, columns, batches = table.unpack(t.nested)
  if t.extent[3] == 1 then batches = { l, 0 } end
  return view(t.tensor, layout({ rows[1], columns[1], batches[1] },
    { rows[2], columns[2], batches[2] }))
end

-- The operand as (rows, columns, batches) of one stride each; batches of extent 1 are broadcast.
local function canonical(t, l)
  if t.nested then return canonical_nested(t, l) end
  local stride = { t.stride[1], t.stride[2], t.extent[3] == 1 and 0 or t.stride[3] }
  return view(t.tensor, layout({ t.extent[1], t.extent[2], l }, stride))
end

-- What is contiguous. An extent of 1 is contiguous with anything.
local function major_of(t)
  local rows_first = t.stride[1] == 1 and t.extent[1] > 1
  if rows_first then return "mn" end
  return (t.stride[2] == 1 or t.extent[2] == 1) and "k" or "mn"
end

local function transposed(t)
  local extent, stride = t.extent, t.stride
  local of = t.nested
  return { name = t.name, tensor = t.tensor, extent = { extent[2], extent[1], extent[3] },
           stride = { stride[2], stride[1], stride[3] }, nested = of and { of[2], of[1], of[3] },
           rows = t.rows and 3 - t.rows, adds = t.adds }
end

-- An operand whose rows, mode 1, are by an index: it is gathered.
local function by_index(t, adds)
  local modes = {}
  for i = 1, 3 do modes[i] = { t.extent[i], t.stride[i] } end
  return { name = t.name, tensor = t.tensor, extent = t.extent, stride = t.stride, nested = modes,
           rows = 1, adds = adds }
end

-- Is C contiguous along N, rather than along M?
local function is_row_major(c)
  return c.stride[2] == 1 and c.extent[2] > 1 and (c.stride[1] ~= 1 or c.extent[1] == 1)
end

-- A C of which each column is that of two of the product, so both are seen at its place.
local function in_pairs(c, n)
  local extent, stride = c.extent, c.stride
  return { name = c.name, tensor = c.tensor, extent = { extent[1], n, extent[3] }, stride = stride,
           nested = { { extent[1], stride[1] }, { { 2, extent[2] }, { 0, stride[2] } },
                      { extent[3], stride[3] } } }
end

local along <const> = { mn = 1, k = 2 } -- the mode that is contiguous

-- What is nested in a problem of these operands, and how much of it is read at once: {A =, B =,
-- C =}; nil: nothing is.
local function nested_of(a, b, c, groups, glu)
  if not (a.nested or b.nested or c.nested) then return nil end
  if groups and (a.nested and not a.rows or b.nested and not b.rows
    or c.nested and not (c.rows or glu)) then
    fail("there are groups, and %s has a mode with more than one stride; groups need matrices "
      .. "with one stride per mode", b.nested and not b.rows and "B" or "A or C")
  end
  local function vector(t, way)
    return t.nested and (t.rows == way and 1 or nested.vector(t.tensor, t.nested, way))
  end
  return { A = vector(a, along[major_of(a)]), B = vector(b, along[major_of(b)]),
           C = vector(c, c.adds and c.rows or 1) }
end

--- The problem of checked operands and options. like: nil, or a problem whose modes that are
--- contiguous this one has, too, as modes of one element allow it.
function M.problem(A, B, C, options, like)
  local a, b, c = describe(A, "A", true), describe(B, "B", true), describe(C, "C", true)
  local groups = options.groups ~= nil and grouping.read("matmul", options.groups, A, B,
    is_tensor(options.gather) and size(options.gather) or nil) or nil
  local rows = indexed.read(options, a, c, groups)
  check_extents(a, b, groups)
  check_result(a, b, c, options, groups, rows)
  check_types(a, b, c, options)
  check_places(a, b, c)
  local all = { a = a, b = b, c = c, groups = groups, rows = rows }
  local ending, scaling = epilogues.read(options, all), scales.read(options, all)
  local sum = compute_type(A.dtype)
  local work = work_type(sum, C.dtype)
  local p = { dtype = A.dtype, c_dtype = C.dtype, sum = sum, work = work, device = C.device,
              alpha = to_factor(options.alpha, "alpha", 1, work),
              beta = to_factor(options.beta, "beta", 0, work), blocks = options.blocks,
              operands = ending.operands, epilogue = ending.epilogue, named = ending.named,
              glu = ending.glu, scales = scaling, swapped = ending.glu or is_row_major(c) }
  if like then p.swapped = like.swapped end
  if p.glu then p.pairs_C, c = canonical(transposed(c), c.extent[3]), in_pairs(c, b.extent[1]) end
  if options.bias then
    p.bias = to_bias(options.bias, c, groups, rows)
    epilogues.check_in_place(arguments.flat(all.c), { describe(p.bias, "bias") },
      rows and rows.scatter)
  end
  if rows and rows.gather then a = by_index(a) end
  if rows and rows.scatter then c = by_index(c, rows.adds) end
  if p.swapped then
    a, b, c, groups = b, a, transposed(c), groups and grouping.swapped(groups)
    p.scales = scales.swapped(p.scales)
  end
  p.m, p.n, p.k, p.l = a.extent[1], b.extent[1], a.extent[2], c.extent[3]
  if rows then p[p.swapped and "n" or "m"] = rows.n end
  p.a_major, p.b_major = (like or {}).a_major or major_of(a), (like or {}).b_major or major_of(b)
  if p.l > M.MAX_BATCHES then
    fail("C is %s; a launch takes at most %d batches, so multiply parts of them", text_of(c),
      M.MAX_BATCHES)
  end
  p.groups, p.rows, p.nested = groups, rows, nested_of(a, b, c, groups, p.glu)
  p.A = canonical(a, groups and a.extent[3] or p.l)
  p.B = canonical(b, groups and b.extent[3] or p.l)
  p.C = canonical(c, p.l)
  return p
end

-- {====== What a call gives ======

--- The type of a new C: that of A, or that of the sums where A's is only one of products.
function M.result_type(dtype)
  if not is_float(dtype) or dtype == tf32 then return compute_type(dtype) end
  return dtype
end

-- A new C: column-major, but of pairs of columns row-major.
local function new_result(A, B, options)
  local groups = options.groups
  local dtype = M.result_type(A.dtype)
  if options.scale_a or options.scale_b then
    dtype = dtype.bits <= 8 and bf16 or is_float(dtype) and dtype or f32
  end
  local l = math.max(rank(A) > 2 and size(A, 2) or 1, rank(B) > 2 and size(B, 2) or 1)
  local has_third = rank(A) > 2 or rank(B) > 2
  if is_tensor(groups) then l, has_third = size(groups), not has_third end
  local n_rows = is_tensor(options.gather) and size(options.gather) or size(A, 0)
  local shape = { n_rows, size(B, 0), has_third and l or nil }
  local order = layout(shape)
  if options.glu then
    local n = size(B, 0) // 2
    order = layout({ shape[1], n, shape[3] }, { n, 1, has_third and shape[1] * n or nil })
  end
  local C = (groups and zeros or tensor)(dtype, order) -- rows may be in no group
  return C.device == A.device and C or C:to(A.device)
end

--- C or a new one, and the options: A and B are checked, each for itself.
function M.operands(A, B, C, options)
  if C ~= nil and not is_tensor(C) and options == nil then C, options = nil, C end
  check_operand(A, "A")
  check_operand(B, "B")
  options = arguments.options("matmul", options, known_options, "{alpha = 2.0, beta = 1.0}")
  if C == nil then
    if options.beta ~= nil and options.beta ~= 0 then
      fail("beta is %s, but there is no C to add; pass a tensor (M,N)", options.beta)
    end
    if options.scatter ~= nil then
      fail("there is scatter but no C; pass the tensor whose rows it names")
    end
    C = new_result(A, B, options)
  end
  check_operand(C, "C")
  if type(options.config) == "table" then configs.checked(options.config, "config") end
  return C, options
end

--- The same, and the problem.
function M.arguments(A, B, C, options)
  local out, opts = M.operands(A, B, C, options)
  return out, opts, M.problem(A, B, out, opts)
end

return M
