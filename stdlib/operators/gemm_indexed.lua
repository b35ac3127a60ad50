-- gemm_indexed.lua: rows of matmul's groups by an index, i32 tensors on the device. `gather` (M):
-- row i of the product is of A's row gather[i]. `scatter` (M): it goes to C's row scatter[i] or, as
-- {rows, "add"}, is added to what is there by atomic operations. A row outside A counts as zeros,
-- and one outside C is not written.
--
-- A variant has gathers_rows, true or nil, and scatter, "store", "add" or nil. The operand is then
-- one that is gathered (gemm_nested.lua), and so is C: the kernel's matrix of a group is a table
-- {tensor = the whole matrix; mode = the mode that has groups; count = rows; index = of these rows,
-- or nil}. The indices follow the ends of groups among the operands.
local tiles = require "cuttle.tiles"
local M = {}

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- {====== On the host ======

local function check_index(x, name, c, n)
  if tiles.type_name(x) ~= "tensor" then
    fail("%s is of type %s; expected an i32 tensor (M), a row for each row of the product", name,
      tiles.type_name(x))
  elseif x.dtype ~= i32 or rank(x) ~= 1 or n and size(x) ~= n then
    fail("%s is %s %s; expected i32 (%s), a row for each row of the product", name, x.dtype,
      x.layout, n or "M")
  elseif x.device ~= c.tensor.device then
    fail("%s is on %s but C is on %s; expected all on one device", name, x.device, c.tensor.device)
  end
end

local function check_gather(options, a, c)
  check_index(options.gather, "gather", c)
  if a.stride[2] ~= 1 and a.extent[2] > 1 then
    fail("A is %s; with gather it must be contiguous along K", a.tensor.layout)
  elseif options.scale_a or options.scale_b then
    fail("there are scales and gather; gather rows and scales first, by cuttle.selections")
  end
end

-- The index, and whether rows are added.
local function scatter_of(option)
  if type(option) ~= "table" then return option, false end
  if option[2] ~= "add" then
    fail("scatter is {rows, %s}; expected {rows, \"add\"}, or rows alone", tostring(option[2]))
  end
  return option[1], true
end

local function check_scatter(options, c, adds)
  if c.stride[2] ~= 1 and c.extent[2] > 1 then
    fail("C is %s; with scatter it must be contiguous along N", c.tensor.layout)
  elseif adds and c.tensor.dtype ~= f32 then
    fail("C is %s; rows are added to f32", c.tensor.dtype)
  elseif options.glu then
    fail("there are glu and scatter; expected one of them")
  elseif options.beta ~= nil and options.beta ~= 0 then
    fail("beta is %s; with scatter C is not read: {rows, \"add\"} adds to it", options.beta)
  end
end

--- The options gather and scatter of described operands: {gather =, scatter =, adds =, n = rows of
--- the product}; nil: there are none.
function M.read(options, a, c, groups)
  if options.gather == nil and options.scatter == nil then return nil end
  if not groups or groups.mode ~= "m" then
    fail("gather and scatter are for rows in groups; give {groups = ends} and a B (N,K,G)")
  end
  if options.gather ~= nil then check_gather(options, a, c) end
  local n = options.gather and size(options.gather) or a.extent[1]
  local scatter, adds = scatter_of(options.scatter)
  if scatter ~= nil then
    check_index(scatter, "scatter", c, n)
    check_scatter(options, c, adds)
  end
  return { gather = options.gather, scatter = scatter, adds = adds, n = n }
end

--- What distinguishes kernels, for matmul.lua.
function M.distinctions(rows)
  return { { "gathers_rows", rows.gather ~= nil },
           { "scatter", rows.scatter and (rows.adds and "add" or "store") } }
end

-- {====== In a kernel ======

--- The indices {gather =, scatter =, extent = rows of the product or nil}, which are taken from the
--- operands.
function M.take(variant, operands)
  local gather = variant.gathers_rows and table.remove(operands, 1)
  local scatter = variant.scatter and table.remove(operands, 1)
  local any = gather or scatter
  return { gather = gather, scatter = scatter, extent = any and size(any) or nil }
end

--- A group's rows (mode 0) or columns (mode 1) of a matrix by an index.
function M.part(tensor, mode, index, group)
  local own = view(tile(index, { 1 }, { group.first }),
    layout({ group.rows }, { stride(index, 0) }))
  return { tensor = tensor, index = guard(own), mode = mode, count = group.rows }
end

--- The whole of C, gathered, up to the group's end: its coordinates are those of all rows of the
--- product. Without an index they are those in C.
function M.until_end(tensor, mode, index, group)
  return { tensor = tensor, index = index and guard(index), mode = mode,
           count = group.first + group.rows }
end

function M.is(matrix) return type(matrix) == "table" end

--- Rows and columns of a matrix or of such a part.
function M.extents(matrix)
  local t = M.is(matrix) and matrix.tensor or matrix
  local extents = { size(t, 0), size(t, 1) }
  if M.is(matrix) then extents[matrix.mode + 1] = matrix.count end
  return extents
end

--- Which row or column of the tensor number i of the index is, and whether there is one.
function M.place(matrix, i)
  local at = matrix.index[i]
  local is_inside = i < matrix.count and at >= 0 and at < size(matrix.tensor, matrix.mode)
  return where(is_inside, at, 0), is_inside
end

return M
