-- judge_task.lua: what a candidate has to do: the table that a reference file returns, read, and
-- the cases that are drawn from it. docs/judge.md describes the table. A task is
--   name            the task's name
--   rows            {name =, dtype =, extents =, order =, values =, is_output =} or {name =,
--                   number =}
--   run             the reference: a function of the tensors and numbers
--   sizes, names    {[NAME] = {least, most}}, and the names in order
--   fixed, time     lists of sizes that are always tried; the sizes for the time, or nil
--   tolerance, allow, deterministic
-- A case is {sizes =, rows = {{dtype =, layout =, shape =, ...}}, values = how values are drawn}.
local internal = ...
local errors = require "cuttle.fail"
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local type_name = require "cuttle.type_name"
local M = {}

--- The operators that a candidate has only if the reference allows them.
M.operators = { "matmul", "attention", "attention_backward", "attention_decode", "row_kernel",
                "reference" }

local function fail(format, ...) errors.fail("judge", format, ...) end

-- {====== Reading ======

-- The value of an expression of sizes, such as "N+1".
local function evaluate(expression, sizes, what)
  if type(expression) ~= "string" then return expression end
  local chunk = load("return " .. expression, "=" .. what, "t", sizes)
  local ok, value = pcall(chunk or error)
  if ok and type(value) == "number" then return value end
  return fail("%s: '%s' is no number of the sizes %s; name each size with the least and the most, "
    .. "as in sizes = {N = {1, 100}}", what, expression, M.sizes_text(sizes))
end
M.evaluate = evaluate

-- "M, N+1" as a list of its parts, of which none is empty; nil: it is none.
local function parts_of(text)
  local list = {}
  for part in (type(text) == "string" and text .. "," or ""):gmatch "([^,]*)," do
    list[#list + 1] = part:match "^%s*(.-)%s*$"
    if list[#list] == "" then return nil end
  end
  return list[1] and list
end

local function is_bound(v) return type(v) == "number" or type(v) == "string" end

local row_readers <const> = {
  order = function(v)
    return v == "row" or v == "column" or v == "any", "'row', 'column' or 'any'"
  end,
  tolerance = option_names.tolerance,
  values = function(v)
    local is_range = type(v) == "table" and #v == 2 and is_bound(v[1]) and is_bound(v[2])
    return is_range or v == "permutation" or type(v) == "function",
      'a range such as {0, 1}, "permutation" or a function'
  end,
}

-- The fields of a row that have names.
local function named_of(row)
  local named = {}
  for key, value in pairs(row) do
    if math.type(key) ~= "integer" then named[key] = value end
  end
  return named
end

local function read_number(row, what, name)
  if row[3] ~= nil or next(named_of(row)) ~= nil then
    fail("%s: '%s' is the value of a number, which has no shape and no fields; a type is written "
      .. 'without quotes, as in {"%s", f32, "M,N"}', what, row[2], name)
  end
  return { name = name, number = row[2] }
end

local function read_row(row, kind, i)
  local name = type(row) == "table" and row[1]
  if type(name) ~= "string" or name == "" then
    fail('%s %d has no name; write {"x", f32, "M,N"}, or {"alpha", 0.5} for a number', kind, i)
  end
  local what = kind .. " " .. name
  if is_bound(row[2]) then return read_number(row, what, name) end
  local extents = parts_of(row[3])
  if type_name(row[2]) ~= "dtype" or not extents or #row > 3 then
    fail('%s: expected a type and a shape, as in {"%s", f32, "M,N"}', what, name)
  end
  local named = option_names.read("judge", named_of(row), row_readers, "field", what .. ": ")
  return { name = name, dtype = row[2], extents = extents, order = named.order or "row",
           values = named.values, tolerance = named.tolerance, is_output = kind == "output" }
end

local function read_rows(list, kind, into)
  if type(list) ~= "table" or #list == 0 then
    fail('the reference has no %ss; write %ss = {{"x", f32, "M,N"}}', kind, kind)
  end
  for i, row in ipairs(list) do
    row = read_row(row, kind, i)
    if into[row.name] then fail("%s is the name of two arguments; give each its own", row.name) end
    into[#into + 1], into[row.name] = row, true
  end
end

local function is_size(v) return math.type(v) == "integer" and v >= 0 end

local function read_sizes(sizes)
  local names = {}
  for name, range in pairs(sizes) do
    local is_range = type(range) == "table" and #range == 2 and is_size(range[1])
      and is_size(range[2]) and range[1] <= range[2]
    if not is_range then
      fail("the size %s has no range; write %s = {1, 100}, the least and the most", tostring(name),
        tostring(name))
    elseif not tostring(name):find "^[%a_][%w_]*$" then
      fail("the size %s has no name that shapes can have; write N = {1, 100}", tostring(name))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function check_sizes(task, sizes, what)
  if type(sizes) ~= "table" then
    fail("%s is %s; sizes were expected, as in {N = 7}", what, tostring(sizes))
  end
  for name in pairs(sizes) do
    option_names.check_key("judge", name, task.sizes, what .. ": the size")
  end
  for _, name in ipairs(task.names) do
    if not is_size(sizes[name]) then fail("%s does not give the size %s", what, name) end
  end
  return sizes
end

local function is_list(v)
  local n = 0
  for _ in pairs(type(v) == "table" and v or {}) do n = n + 1 end
  return type(v) == "table" and n == #v
end

local readers <const> = {
  name = option_names.text, reference = option_names.func, sizes = option_names.table,
  inputs = function(v) return is_list(v), 'a list such as {{"x", f32, "M,N"}}' end,
  outputs = function(v) return is_list(v), 'a list such as {{"y", f32, "M,N"}}' end,
  cases = function(v) return is_list(v), "a list of sizes, as in {{N = 7}, {N = 100}}," end,
  time = option_names.table, tolerance = option_names.tolerance,
  deterministic = option_names.flag, special = option_names.flag,
  allow = function(v)
    local known, ok = lists.set(M.operators), is_list(v)
    for _, name in ipairs(ok and v or {}) do ok = ok and known[name] ~= nil end
    return ok, "a list of " .. table.concat(M.operators, ", ")
  end,
}

--- Reads the table of a reference file; raises and says what is wrong with it.
function M.read(t)
  if type(t) ~= "table" then
    fail("the reference is %s; expected a table with inputs, outputs and reference",
      t == nil and "nil" or "a " .. type_name(t))
  end
  option_names.read("judge", t, readers, "the reference's field")
  if not t.reference then
    fail("the reference has no function; write reference = function(x, y) ... end")
  end
  local task = { name = t.name or "task", rows = {}, run = t.reference, sizes = t.sizes or {},
                 fixed = {}, tolerance = t.tolerance, allow = t.allow or {}, special = t.special,
                 deterministic = t.deterministic ~= false }
  read_rows(t.inputs, "input", task.rows)
  read_rows(t.outputs, "output", task.rows)
  task.names = read_sizes(task.sizes)
  for i, sizes in ipairs(t.cases or {}) do
    task.fixed[i] = check_sizes(task, sizes, ("case %d"):format(i))
  end
  task.time = t.time and check_sizes(task, t.time, "time")
  return task
end

-- {====== Random numbers ======

local Random = {}
Random.__index = Random

--- A generator of its own: that of the script is not touched.
function M.random(seed) return setmetatable({ state = seed }, Random) end

local function mixed(z) -- splitmix64
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  return z ~ z >> 31
end

function Random:next()
  self.state = self.state + 0x9e3779b97f4a7c15
  return mixed(self.state)
end

--- A number from 0 on below 1.
function Random:unit() return (self:next() >> 11) * 0x1p-53 end

--- An integer from lo to hi.
function Random:integer(lo, hi)
  return lo + math.tointeger((self:unit() * (hi - lo + 1)) // 1)
end

function Random:of(list) return list[self:integer(1, #list)] end

-- {====== Cases ======

function M.sizes_text(sizes)
  local out = lists.map(lists.keys(sizes), function(name) return name .. "=" .. sizes[name] end)
  return #out > 0 and table.concat(out, " ") or "none"
end

-- Sizes at which kernels go wrong: around powers of two, and whatever else.
local function draw_size(random, least, most)
  local kind, power = random:integer(0, 3), 1
  while 2 * power <= most and (power < least or random:integer(0, 2) > 0) do power = 2 * power end
  local value = kind == 0 and random:integer(least, most) or power + random:of { -1, 0, 1 }
  return math.min(math.max(value, least), most)
end

local function sizes_of(task, how)
  local sizes = {}
  for _, name in ipairs(task.names) do
    sizes[name] = how(task.sizes[name][1], task.sizes[name][2])
  end
  return sizes
end

-- A layout as text, with strides in this order; pad: extra elements behind each line.
local function layout_text(extents, order, pad)
  local n, strides, step = #extents, {}, 1
  local first, last, by = 1, n, 1
  if order == "row" then first, last, by = n, 1, -1 end
  for i = first, last, by do
    strides[i] = step
    step = step * math.max(extents[i], 1) + (i == first and n > 1 and pad or 0)
  end
  return ("(%s):(%s)"):format(table.concat(extents, ","), table.concat(strides, ","))
end

local function place_row(row, sizes, random)
  local out = setmetatable({}, { __index = row })
  if not row.dtype then
    out.number = evaluate(row.number, sizes, row.name)
    return out
  end
  out.shape, out.size = {}, 1
  for i, text in ipairs(row.extents) do
    local extent = math.tointeger(evaluate(text, sizes, row.name))
    if not extent or extent < 0 then
      fail("%s: '%s' is %s for the sizes %s; an extent is an integer from 0 on", row.name, text,
        evaluate(text, sizes, row.name), M.sizes_text(sizes))
    end
    out.shape[i], out.size = extent, out.size * extent
  end
  local order, pad = row.order, 0
  if order == "any" then
    order = random:of { "row", "column" }
    pad = random:of { 0, 0, 3 }
  end
  out.layout = layout_text(out.shape, order, pad)
  return out
end

local function place(task, sizes, random, values)
  local case = { sizes = sizes, values = values, rows = {} }
  for i, row in ipairs(task.rows) do case.rows[i] = place_row(row, sizes, random) end
  return case
end

--- n cases or more: the least sizes, those of the task, drawn ones, and last the sizes whose time
--- counts, which are those of `time` or the most of each. Some have values at edges.
function M.cases(task, n, seed)
  local random, list = M.random(seed), {}
  list[1] = place(task, sizes_of(task, function(least) return least end), random, "usual")
  for _, sizes in ipairs(task.fixed) do list[#list + 1] = place(task, sizes, random, "usual") end
  while #list + 1 < n do
    local sizes = sizes_of(task, function(least, most) return draw_size(random, least, most) end)
    list[#list + 1] = place(task, sizes, random, #list % 2 == 0 and "edge" or "usual")
  end
  local timed = task.time or sizes_of(task, function(_, most) return most end)
  list[#list + 1] = place(task, timed, random, "usual")
  return list
end

-- {====== Values ======

local edges <const> = { 0.0, -0.0, 1.0, -1.0, 0.5, 60.0, -60.0, 1e-6 }
local specials <const> = { 0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1e30, -1e30, 1e-40 }

local function normal(random)
  return math.sqrt(-2 * math.log(1 - random:unit())) * math.cos(2 * math.pi * random:unit())
end

local function in_range(row, case, random)
  local lo = evaluate(row.values[1], case.sizes, row.name)
  local hi = evaluate(row.values[2], case.sizes, row.name)
  if not row.dtype.is_float then
    lo, hi = math.tointeger(lo), math.tointeger(hi)
    return function() return random:integer(lo, math.max(lo, hi)) end
  end
  local at_edge = case.values == "edge"
  return function()
    local u = random:unit()
    if at_edge and u < 0.25 then return u < 0.125 and lo + 0.0 or hi + 0.0 end
    return lo + (hi - lo) * random:unit()
  end
end

local function floats(task, case, random)
  local pool = task.special and specials or edges
  local share = case.values == "edge" and 0.3 or 0
  return function()
    if random:unit() < share then return random:of(pool) end
    return normal(random)
  end
end

local function permutation(row, random)
  local list = {}
  for i = 1, row.size do list[i] = i - 1 end
  for i = row.size, 2, -1 do
    local j = random:integer(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return function(i) return list[i + 1] end
end

-- A function of an element's number that draws its value.
local function drawer(task, case, row, random)
  local values = row.values
  if type(values) == "function" then
    return function(i) return values(i, case.sizes, random) end
  end
  if values == "permutation" then return permutation(row, random) end
  if type(values) == "table" then return in_range(row, case, random) end
  if row.dtype.is_float then return floats(task, case, random) end
  if row.dtype == bool then return function() return random:unit() < 0.5 end end
  local least = row.dtype.name:find "^u" and 0 or -8
  return function() return random:integer(least, 8) end
end

local MOST_DRAWN <const> = 1 << 14 -- elements; more repeat those

-- Fills a tensor with values of the row, in linear order.
local function draw(task, case, row, random, t)
  local f = drawer(task, case, row, random)
  if row.size <= MOST_DRAWN or type(row.values) == "string" then
    for i = 0, row.size - 1 do t[i] = f(i) end
    return
  end
  local first = view(t, layout(MOST_DRAWN))
  for i = 0, MOST_DRAWN - 1 do first[i] = f(i) end
  internal.judge.tile(t, MOST_DRAWN * row.dtype.bytes)
end

--- The inputs of a case, drawn with this seed, by row; outputs that have values are among them.
function M.inputs(task, case, seed)
  local random, out = M.random(seed), {}
  for i, row in ipairs(case.rows) do
    if row.dtype and (not row.is_output or row.values) then
      out[i] = tensor(row.dtype, row.layout)
      draw(task, case, row, random, out[i])
    end
  end
  return out
end

return M
