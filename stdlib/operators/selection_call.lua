-- selection_call.lua: what the operators of cuttle.selections share: how they are called and
-- prepared, and which tensors they take. An operator is a function `plan` of its arguments and
-- options that returns the launches (see operator_steps.lua) and the list of results.
local internal = ...
local arguments = require "cuttle.arguments"
local on_device = require "cuttle.operator_device"
local launches = require "cuttle.operator_steps"
local tiles = require "cuttle.tiles"
local M = {}

M.fail = tiles.fail

local Selection = {}
local selection_type = tiles.new_type("selection", Selection)

-- {====== Calls ======

-- Steps and results of a call whose last argument may be options.
local function planned(self, ...)
  if tiles.type_name(self) ~= "selection" then
    tiles.fail("selections", "a method was called with '.'; write ':', as in "
      .. "selections.scan:prepare(x)")
  end
  local given = table.pack(...)
  local options = arguments.options(self.name, arguments.take_options(given), self.known,
    self.example)
  if given.n > self.most then
    tiles.fail(self.name, "%d arguments; expected at most %d, then options such as %s", given.n,
      self.most, self.example)
  end
  local steps, results = self.plan(options, table.unpack(given, 1, self.most))
  for _, step in ipairs(steps) do
    step.launch.stream, step.launch.check = options.stream, options.check
  end
  return steps, results
end

selection_type.__call = function(self, ...)
  local steps, results = planned(self, ...)
  launches.run(steps)
  return table.unpack(results)
end

selection_type.__tostring = function(self) return "selection " .. self.name end

--- The launches as a function without arguments, to be called often, and the list of results.
function Selection:prepare(...)
  local steps, results = planned(self, ...)
  return launches.prepare(steps), results
end

--- The launches as a list of steps and the list of results, for an operator that has more steps.
function Selection:steps(...) return planned(self, ...) end

--- The CUDA C of each kernel that such a call launches, in order.
function Selection:source(...)
  local texts = {}
  for i, step in ipairs((planned(self, ...))) do
    local n = step.args.n or #step.args
    texts[i] = step.kernel(step.launch):source(table.unpack(step.args, 1, n))
  end
  return table.unpack(texts)
end

--- An operator. `most` is the number of its arguments before the options, `known` has the names of
--- its options beside out, stream and check, `example` shows options in messages.
function M.define(name, most, known, example, plan)
  known = table.move(known, 1, #known, 4, { "check", "out", "stream" })
  return setmetatable({ name = name, most = most, known = known, example = example, plan = plan },
    selection_type)
end

-- {====== Tensors ======

-- Are the elements adjacent, the last mode fastest?
local function is_row_major(t)
  local reach = 1
  for i = #t.extent, 1, -1 do
    if t.extent[i] > 1 and t.stride[i] ~= reach then return false end
    reach = reach * t.extent[i]
  end
  return true
end

--- {name, tensor, extent, stride} of a tensor whose elements are adjacent in row-major order, with
--- n elements, `flat` a view of all of them, and the rows of the last mode: n_rows and columns.
function M.whole(op, x, name)
  arguments.check_tensor(op, x, name, "of adjacent elements", "it launches kernels itself")
  local t = arguments.flat(arguments.describe(op, x, name, true))
  if not is_row_major(t) then
    tiles.fail(op, "%s is %s; its elements must be adjacent, and the last mode fastest: copy %s "
      .. "into a tensor of the layout row_major{%s}", name, x.layout, name,
      table.concat(t.extent, ", "))
  end
  t.n = size(x)
  t.columns = t.extent[#t.extent] or 1
  t.n_rows = t.columns > 0 and t.n // t.columns or 0
  t.flat = view(x, layout(t.n))
  return t
end

--- A tensor as M.whole describes it, with one mode, on the device of `like`, of one of `types`, and
--- with n elements if n is given.
function M.vector(op, x, name, like, types, n)
  local t = M.whole(op, x, name)
  if #t.extent ~= 1 or n and t.n ~= n then
    tiles.fail(op, "%s is (%s); expected one mode%s", name, table.concat(t.extent, ","),
      n and (" of %d elements"):format(n) or "")
  end
  M.check_device(op, t, like)
  M.check_type(op, t, types)
  return t
end

--- That both are on one device.
function M.check_device(op, t, like)
  if t.tensor.device ~= like.tensor.device then
    tiles.fail(op, "%s is on %s but %s is on %s; expected all on one device", t.name,
      t.tensor.device, like.name, like.tensor.device)
  end
end

--- That the tensor has an element type of the list.
function M.check_type(op, t, types)
  local names = {}
  for i, dtype in ipairs(types) do
    if t.tensor.dtype == dtype then return end
    names[i] = dtype.name
  end
  tiles.fail(op, "%s is %s; expected one of %s", t.name, t.tensor.dtype, table.concat(names, ", "))
end

-- {====== Results ======

-- What was given as the results, as a list of at most n.
local function given_results(op, out, n)
  if tiles.type_name(out) == "tensor" then out = { out } end
  if out == nil then return {} end
  if type(out) ~= "table" or #out > n then
    tiles.fail(op, "out is %s; expected a tensor, or a list of at most %d",
      type(out) == "table" and "a list of " .. #out or "of type " .. tiles.type_name(out), n)
  end
  return out
end

local function check_result(op, t, want)
  if table.concat(t.extent, ",") ~= table.concat(want.shape, ",") then
    tiles.fail(op, "%s is (%s); expected (%s)", t.name, table.concat(t.extent, ","),
      table.concat(want.shape, ","))
  end
  if want.only and t.tensor.dtype ~= want.dtype then
    tiles.fail(op, "%s is %s; expected %s", t.name, t.tensor.dtype, want.dtype)
  end
end

--- The results: those of the option `out`, or new tensors. `wanted` is a list of {dtype =,
--- shape =}, with only = true if no other type is right. A result shares memory neither with
--- `inputs`, which M.whole described, nor with another result. Returns the list of descriptions, as
--- of M.whole, and the list of tensors.
function M.results(op, options, like, wanted, inputs)
  local out, found, tensors = given_results(op, options.out, #wanted), {}, {}
  for i, want in ipairs(wanted) do
    local x = out[i] or on_device.new(like.tensor.device, want.dtype, row_major(want.shape))
    local t = M.whole(op, x, ("out[%d]"):format(i))
    if out[i] then
      M.check_device(op, t, like)
      check_result(op, t, want)
      arguments.check_apart(op, t, inputs)
      arguments.check_apart(op, t, found)
    end
    found[i], tensors[i] = t, x
  end
  return found, tensors
end

-- {====== Work memory ======

M.clear = launches.clear

--- Work memory of n elements on the device of `like`; nobody has written it.
function M.work(like, dtype, n) return on_device.new(like.tensor.device, dtype, n) end

--- Work memory as M.whole describes a tensor with one mode.
function M.described(t)
  return { name = "work", tensor = t, flat = t, n = size(t), n_rows = 1, columns = size(t) }
end

--- What kernels for the device of `like` are written for, as operator_device.lua says.
function M.target(like) return on_device.target(like.tensor.device) end

--- The type in which arithmetic has elements of that type.
function M.type_of_sums(dtype)
  if dtype == bool then return i32 end
  if dtype.is_float then return dtype == f64 and f64 or f32 end
  return dtype.bytes >= 4 and dtype or i32
end

--- A kernel's value in the type of another one.
function M.like(v, other) return cast(v, internal.kernel.dtype_of(other)) end

--- A kernel's element as a number of that type: true is 1.
function M.number(v, dtype)
  if internal.kernel.dtype_of(v) == bool then v = where(v, 1, 0) end
  return cast(v, dtype)
end

return M
