-- arguments.lua: what operators that launch kernels themselves (matmul, attention) check of their
-- arguments, host tensors and a table of options, and know of them. `op` is the operator's name in
-- messages.
local internal = ...
local overlap = require "cuttle.overlap"
local tiles = require "cuttle.tiles"
local M = {}

M.options = require "cuttle.option_names".check

--- The results of f(...), which launches kernels; nothing where none can be compiled.
function M.by_kernels(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  if internal.launch.can_compile() then error(results[2], 0) end
end

--- The table of options that may be the last of packed arguments (table.pack), which is taken from
--- them; {} if there is none. A list is an argument.
function M.take_options(given)
  local last = given[given.n]
  if type(last) ~= "table" or getmetatable(last) ~= nil or last[1] ~= nil then return {} end
  given[given.n], given.n = nil, given.n - 1
  return last
end

--- That x is a tensor of the host's script, which has an address. `modes` says which was expected,
--- `itself` what the operator does that a kernel cannot ask for.
function M.check_tensor(op, x, name, modes, itself)
  if tiles.type_name(x) ~= "tensor" then
    tiles.fail(op, "%s is of type %s; a tensor %s was expected", name, tiles.type_name(x), modes)
  end
  local address, why = internal.launch.address(x)
  if why then
    tiles.fail(op, "%s %s", name, why)
  elseif address == nil then
    tiles.fail(op, "%s is a tensor of a kernel; %s", name, itself)
  end
end

--- That `work` is memory for at least so many f32, on that device if one is given.
function M.check_work(op, work, least, device)
  M.check_tensor(op, work, "work", "of one mode", "an operator launches its kernels itself")
  if work.dtype ~= f32 or rank(work) ~= 1 or stride(work) ~= 1
    or work.device ~= (device or work.device) or size(work) < least then
    tiles.fail(op, "work is %s %s on %s; expected at least %d adjacent f32 on %s", work.dtype,
      work.layout, work.device, least, device or work.device)
  end
end

--- The results that the option `out` gives, a tensor or a list of n, as a list; nil if it is nil.
function M.results(op, out, n)
  if tiles.type_name(out) == "tensor" then out = { out } end
  if out == nil or type(out) == "table" and #out == n then return out end
  if type(out) ~= "table" then
    tiles.fail(op, "out is of type %s; expected a tensor, or a list of them", tiles.type_name(out))
  end
  tiles.fail(op, "out has %d tensors; the function returns %d values", #out, n)
end

-- A tuple as a table of its entries.
local function entries(tuple) return type(tuple) == "table" and tuple or { tuple } end

-- Mode i, which has modes of its own, as few of them as may be: shapes and strides, integers if one
-- stride is enough, else tables. One without elements has no strides to speak of.
local function merged_mode(x, i)
  if size(x, i - 1) == 0 then return 0, 0 end
  local l = coalesce(get_mode(x.layout, i - 1))
  local s, d = shape(l), stride(l)
  if type(s) == "table" and #s == 1 then return s[1], d[1] end
  return s, d
end

local function refuse_nested(op, x, i, name)
  tiles.fail(op, "mode %d of %s, %s, has more than one stride; copy %s into a tensor in which "
    .. "each mode has one", i - 1, name, x.layout, name)
end

--- {name =, tensor =, extent = {...}, stride = {...}}: the tensor's modes without modes of modes.
--- With takes_nested such a mode may have more than one stride: then `nested` is there, and has
--- {shape, stride} of each mode, integers or tables of integers. `extent` has sizes, and `stride`
--- the first stride of each. With takes_nested = "rows" the last mode has one stride.
function M.describe(op, x, name, takes_nested)
  local extent, stride = entries(x.shape), entries(x.stride)
  local t = { name = name, tensor = x, extent = extent, stride = stride }
  for i = 1, #extent do
    if type(extent[i]) == "table" then
      local s, d = merged_mode(x, i)
      if type(s) == "table" then
        if not takes_nested or takes_nested == "rows" and i == #extent then
          refuse_nested(op, x, i, name)
        end
        t.nested = t.nested or {}
        t.nested[i] = { s, d }
        s, d = size(x, i - 1), d[1]
      end
      extent[i], stride[i] = s, d
    end
  end
  for i = 1, t.nested and #extent or 0 do
    t.nested[i] = t.nested[i] or { extent[i], stride[i] }
  end
  return t
end

--- What M.describe returned, with a stride for each extent again: modes of modes one by one.
function M.flat(t)
  if not t.nested then return t end
  local flat = { name = t.name, tensor = t.tensor, extent = {}, stride = {} }
  for _, m in ipairs(t.nested) do
    for i, extent in ipairs(entries(m[1])) do
      flat.extent[#flat.extent + 1] = extent
      flat.stride[#flat.stride + 1] = entries(m[2])[i]
    end
  end
  return flat
end

--- The same elements without modes of modes; each mode has one stride.
function M.plain(op, x, name)
  local t = M.describe(op, x, name)
  return view(x, layout(t.extent, t.stride))
end

--- That a result, as of M.flat, has a place for each of its elements.
function M.check_distinct(op, t)
  if overlap.has_shared(t) then
    tiles.fail(op, "%s is %s: elements share memory, so they cannot hold different results", t.name,
      t.tensor.layout)
  end
end

local function refuse_shared(op, t, other)
  tiles.fail(op, "%s shares memory with %s; give %s memory of its own", t.name, other.name, t.name)
end

--- That it shares memory with none of `others`, of which some may be false.
function M.check_apart(op, t, others)
  for _, other in ipairs(others) do
    if other and overlap.shares(t, other) then refuse_shared(op, t, other) end
  end
end

--- That none of many results shares memory with another one or with one of `others`.
function M.check_all_apart(op, results, others)
  local t, other = overlap.first_shared(results, others)
  if t then refuse_shared(op, t, other) end
end

--- That it shares memory with another one either not at all, or each element with its own.
function M.check_in_place(op, t, other)
  if overlap.shares(t, other) and not overlap.is_same(t, other) then
    tiles.fail(op, "%s shares memory with %s, but not element by element: it would be read after "
      .. "it is written; give %s memory of its own", t.name, other.name, t.name)
  end
end

--- Both of a tensor, which is added to the others.
function M.check_memory(op, x, name, others)
  local t = M.flat(M.describe(op, x, name))
  M.check_distinct(op, t)
  M.check_apart(op, t, others)
  others[#others + 1] = t
end

return M
