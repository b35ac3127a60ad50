-- judge_truth.lua: what a case's outputs should be, and how far a candidate's may be from that. The
-- reference runs twice: on f64 in place of every float type, which gives the truth, and on the
-- types as declared, whose distance from the truth is an error that is natural for these types and
-- this case. A candidate may be as far away as allclose allows for the type, or NATURAL times that
-- error. M.of(task, case, seed) is {inputs =, outputs =}: by row, tensors as given, and {want =,
-- rtol =, atol =}.
local drawn = require "cuttle.judge_task"
local errors = require "cuttle.fail"
local type_name = require "cuttle.type_name"
local internal = ...
local M = {}

local NATURAL <const> = 4
local POISONS <const> = { 0x7f, 0xff }
local BOOL_POISONS <const> = { 1, 0 }

--- The byte of poison number i: no value of a right output, in both of them.
function M.poison(dtype, i)
  local list = dtype == bool and BOOL_POISONS or POISONS
  return list[(i - 1) % 2 + 1]
end

-- {====== The reference ======

local function wide(dtype) return dtype.is_float and f64 or dtype end

-- The reference's arguments, in these types, column-major and compact; outputs begin with their own
-- values, or with 0.
local function arguments(case, given, type_of)
  local args = {}
  for i, row in ipairs(case.rows) do
    if not row.dtype then
      args[i] = row.number
    elseif given[i] then
      args[i] = reference.cast(given[i], type_of(row.dtype))
    else
      args[i] = zeros(type_of(row.dtype), ("(%s)"):format(table.concat(row.shape, ",")))
    end
  end
  return args
end

local function is_among(args, value)
  for _, arg in ipairs(args) do
    if rawequal(arg, value) then return true end
  end
  return value == nil
end

local function run_reference(task, args)
  local ok, what = pcall(task.run, table.unpack(args, 1, #args))
  if not ok then errors.fail("judge", "the reference fails: %s", tostring(what)) end
  if not is_among(args, what) then
    errors.fail("judge", "the reference returns a %s; it must write its results into the outputs, "
      .. "which it gets after the inputs, as in y[i] = 2 * x[i]", type_name(what))
  end
end

-- The largest finite distance of two tensors.
local function distance(a, b)
  local most = 0.0
  for i = 0, size(a) - 1 do
    local d = math.abs(a[i] - b[i])
    if d > most and d < math.huge then most = d end
  end
  return most
end

-- By the error of the declared types; a reference that does not run on them has none.
local function natural_errors(task, case, given, want)
  local args = arguments(case, given, function(dtype) return dtype end)
  local found = {}
  if not pcall(task.run, table.unpack(args, 1, #args)) then return found end
  for i, row in ipairs(case.rows) do
    if row.is_output and row.dtype.is_float then found[i] = distance(args[i], want[i]) end
  end
  return found
end

local function tolerance_of(task, row, natural)
  local given = row.tolerance or task.tolerance
  if given then return { rtol = given.rtol or 0, atol = given.atol or 0 } end
  local rtol, atol = internal.judge.tolerance(row.dtype)
  return { rtol = rtol, atol = math.max(atol, NATURAL * (natural or 0)) }
end

--- The inputs of a case, drawn with this seed, and what the outputs should be.
function M.of(task, case, seed)
  local given, out = drawn.inputs(task, case, seed), { outputs = {} }
  local args = arguments(case, given, wide)
  run_reference(task, args)
  local natural = natural_errors(task, case, given, args)
  for i, row in ipairs(case.rows) do
    if row.is_output then
      local want = reference.cast(args[i], row.dtype)
      out.outputs[i] = { want = want, tolerance = tolerance_of(task, row, natural[i]) }
    end
  end
  out.inputs = given
  return out
end

-- {====== Comparing ======

local function text_of(v)
  return math.type(v) == "float" and ("%.9g"):format(v) or tostring(v)
end

local function coordinate(row, i)
  local out = {}
  for k, extent in ipairs(row.shape) do
    out[k], i = ("%d"):format(i % extent), i // extent
  end
  return table.concat(out, ",")
end

-- Is `got` as near to `want` as is allowed? NaN is near NaN.
local function is_near(got, want, tolerance)
  if got == want or got ~= got and want ~= want then return true end
  if type(got) == "boolean" then return false end
  local d = math.abs(got - want)
  return d < math.huge and d <= tolerance.atol + tolerance.rtol * math.abs(want)
end

local function worst_of(got, want, tolerance)
  local first, n = nil, 0
  for i = 0, size(got) - 1 do
    if not is_near(got[i], want[i], tolerance) then
      first, n = first or i, n + 1
    end
  end
  return first, n
end

-- Is this what the poison looks like as an element? NaN could also have been computed.
local function is_poison(row, value, poison)
  if not poison then return false end
  local t = tensor(row.dtype, 1)
  internal.judge.fill(t, poison)
  return t[0] == value
end

--- true; or false, how many elements are wrong, and a text about the first of them. poison: the
--- byte that the outputs held before, or false.
function M.compare(row, got, output, poison)
  if allclose(got, output.want, output.tolerance) then return true, 0 end
  local first, n = worst_of(got, output.want, output.tolerance)
  if not first then return true, 0 end
  local value = got[first]
  local is = is_poison(row, value, poison) and "was not written" or "is " .. text_of(value)
  return false, n, ("%s[%s] %s, and should be %s (%d of %d elements are wrong)"):format(row.name,
    coordinate(row, first), is, text_of(output.want[first]), n, row.size)
end

--- Do the elements between those of the layout still have the poison?
function M.gaps_are_whole(row, got, poison)
  if cosize(got.layout) == row.size then return true end
  local other = tensor(row.dtype, row.layout)
  internal.judge.fill(other, poison)
  copy(got, other)
  return internal.judge.bytes(other) == internal.judge.bytes(got)
end

return M
