-- tiles.lua: what tiled MMAs and tiled copies share: arguments and parts of a thread. The same code
-- runs on the host, on layouts and tensors, and in a kernel, where a thread's number is a run-time
-- value.
local language = require "cuttle"
local internal = ...
local lists = require "cuttle.lists"
local M = {}

M.fail = require "cuttle.fail".fail

M.type_name = require "cuttle.type_name"

--- The operator of this name that the type of one of the arguments has for itself, as sharded
--- tensors have a matmul; nil: the general one is meant.
function M.own_operator(name, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    local meta = type(x) == "table" and getmetatable(x)
    local operators = type(meta) == "table" and rawget(meta, "__operators")
    if operators then return operators[name] end
  end
end

--- The tensors that a value is made of, if its type has such: {{name, tensor}, ...}; else nil.
--- Those are the fields that `__tensors` of its metatable names, of which some may be absent.
function M.tensors_of(x)
  local meta = type(x) == "table" and getmetatable(x)
  local names = type(meta) == "table" and rawget(meta, "__tensors")
  if not names then return nil end
  local list = {}
  for _, name in ipairs(names) do
    if x[name] then list[#list + 1] = { name, x[name] } end
  end
  return list
end

--- A metatable of a type of the language, its methods and fields where completion looks for them.
--- Methods, which are added later, refuse surplus arguments. A script that asks an object for
--- another name gets an error; `fields` lists those that an object may also lack.
function M.new_type(name, methods, fields)
  internal.host.close_methods(name, fields, methods)
  return { __name = name, __index = methods, __methods = methods, __fields = fields }
end

-- An atom by name, or as it is.
function M.to_atom(x, kind, op)
  local a = type(x) == "string" and atom(x) or x
  if M.type_name(a) ~= "atom" then
    M.fail(op, "argument 1 is of type %s; an atom was expected", M.type_name(a))
  elseif a.kind ~= kind then
    M.fail(op, "%s is an atom of %s; an atom of %s was expected", a.name,
      a.kind == "mma" and "products" or "copies", kind == "mma" and "products" or "copies")
  end
  return a
end

-- Of what is to be partitioned: texts and tables stand for layouts.
function M.stands_for_layout(x)
  return type(x) == "string" or type(x) == "table"
end

-- The elements of x at a coordinate with `_`: a tensor, or a layout and its offset.
function M.cut(x, crd)
  if M.type_name(x) == "tensor" then return x(table.unpack(crd)) end
  return slice_and_offset(crd, x)
end

-- ((thread, values), rest) as (thread, values, rest).
function M.unfold(x)
  local all = { { _, _ }, _ }
  if M.type_name(x) == "tensor" then return x(table.unpack(all)) end
  return slice(all, x)
end

-- n times `_`.
function M.wildcards(n)
  local out = {}
  for i = 1, n do out[i] = _ end
  return out
end

-- The sizes of x's modes must be multiples of `sizes`. Sizes that only a launch knows are checked
-- at each launch. `what` names the sizes: "the tile of the MMA's A".
function M.check_divides(tensor, sizes, op, what)
  local rank = rank(tensor)
  if rank < #sizes then
    M.fail(op, "%s has rank %d; %s %s needs rank %d, one mode for each size",
      tensor.layout or tensor, rank, what, M.tuple_text(sizes), #sizes)
  end
  local is_static = true
  for i = 1, #sizes do
    local n = size(tensor, i - 1)
    if not internal.kernel.is_static(n) then
      is_static = false
    elseif n % sizes[i] ~= 0 then
      M.fail(op, "extent %d of mode %d of %s is not a multiple of %d in %s %s; use a tile that "
        .. "it divides", n, i - 1, tensor.layout or tensor, sizes[i], what, M.tuple_text(sizes))
    end
  end
  if not is_static then tile(tensor, sizes, M.wildcards(#sizes)) end -- notes it for the launch
end

function M.tuple_text(list)
  return "(" .. table.concat(list, ",") .. ")"
end

-- The number of one of n threads where it is known; and that there are as many, where it is
-- threadIdx.x. A block may have more, if a condition keeps them away: they do something else.
function M.check_thread(i, n, op)
  if internal.kernel.is_static(i) then
    if math.tointeger(i) == nil then
      M.fail(op, "argument 1 is of type %s; the number of a thread was expected, as in "
        .. "%s(threadIdx.x)", M.type_name(i), op)
    end
    if i < 0 or i >= n then M.fail(op, "there is no thread %d; expected 0 to %d", i, n - 1) end
    return
  end
  local is_x, block = i == threadIdx.x, blockDim.x
  if not internal.kernel.is_static(is_x) or not is_x then return end
  if block < n then
    M.fail(op, "%d threads share the work, but a block has %d of them; launch it with block = %d",
      n, block, n)
  end
  local first, last = internal.kernel.come_threads(n)
  if first then
    M.fail(op, "%d threads share the work, but %s of the block get%s here, too; launch it with "
      .. "block = %d, or let others not get here: 'if threadIdx.x < %d then'", n,
      first == last and "thread " .. first or ("threads %d to %d"):format(first, last),
      first == last and "s" or "", n, n)
  end
end

-- For check: the part is that of thread i of n. Returns its arguments from the part on.
function M.of_thread(i, n, part, ...)
  if M.type_name(part) == "tensor" and not internal.kernel.is_static(i) then
    internal.kernel.note_thread(part, i, n)
  end
  return part, ...
end

--- Are all integers of a shape or stride known while tracing?
function M.is_known(x)
  if type(x) ~= "table" then return internal.kernel.is_static(x) end
  return lists.all(x, M.is_known)
end

--- The layout of a tensor's first two modes without its swizzle; nil if it is not known.
function M.static_layout(x)
  local l = take(x.layout.swizzle and x.layout.layout or x.layout, 0, 2)
  if M.is_known(shape(l)) and M.is_known(stride(l)) then return l end
end

--- Does a division keep the size of a layout? A tile may cross the parts of a mode: then it fails,
--- or pads. Of no layout nothing is known.
function M.keeps_size(l, divide)
  if l == nil then return true end
  local ok, parts = pcall(divide, l)
  return ok and size(parts) == size(l)
end

--- A thread's part of a tile that was cut out as whole(_, _, k): the part of the whole, then its k.
--- So the arithmetic that does not depend on k comes first, as where the whole is partitioned.
function M.part_of_tile(x, partition)
  local whole, k = internal.kernel.whole_of(x)
  if whole == nil then return partition(x) end
  return partition(whole)(_, _, _, k)
end

--- Is the index arithmetic of products of this tile to stand before their loop? CUDA 13.0's
--- assembler orders a loop by what stands around it. For integers and two steps of 32 elements
--- that makes the loop 1.10 times as fast, for four steps 0.94 times; floats need it not.
function M.wants_early(x)
  return (x.dtype == i8 or x.dtype == u8) and size(x, 1) <= 64
end

-- That a method of a thread's view was called with something to share.
function M.check_part(x, op)
  if x == nil then
    M.fail(op, "argument 1 is missing; a tensor or a layout was expected, as in thr:%s(x), with a "
      .. "colon", op)
  end
end

-- Registers in a kernel; on the host, where there are none, a tensor of zeros.
function M.registers(part, dtype, layout)
  local is_here = part.dtype == nil and internal.kernel.is_tracing()
  if is_here or (part.dtype ~= nil and part.device == nil) then
    return fragment(dtype, layout)
  end
  return zeros(dtype, layout)
end

-- Functions on objects of the language as methods of another type.
function M.add_pictures(methods)
  for _, name in ipairs { "show", "explain", "svg", "latex", "html" } do
    methods[name] = language[name]
  end
end

--- The largest power of two that divides n, at most `most`.
function M.power_in(n, most)
  local p = 1
  while p < most and n % (2 * p) == 0 do p = 2 * p end
  return p
end

-- The sizes of the modes of a layout or shape, as a table.
function M.sizes(x)
  local out = {}
  for i = 1, rank(x) do out[i] = size(x, i - 1) end
  return out
end

--- Bits from one element in memory to the next: 8 of those of 6 bits.
function M.width(dtype) return math.tointeger(8 * dtype.bytes) end

return M
