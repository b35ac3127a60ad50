-- row_methods.lua: the row that the function of a row_kernel is given first: its reductions, its
-- place, and the marks of results that are no elements. row_template.lua says how calls and
-- reductions meet.
local internal = ...
local dropping = require "cuttle.dropout"
local tiles = require "cuttle.tiles"
local M = {}

local op <const>, WARP <const> = "row_kernel", 32

local function fail(format, ...) tiles.fail(op, format, ...) end

local Row = {}
Row.__index = Row

local function widened(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = internal.kernel.widened(v) end
  return out
end

--- A value that can be stored, in the type that arithmetic has it in.
function M.storable(value, what)
  local kind = tiles.type_name(value)
  if kind == "number" or kind == "boolean" then return internal.kernel.widened(value) end
  fail("%s is of type %s; expected a number", what, kind)
end

-- What counts calls is known while tracing, except under a run-time condition.
local function check_reached(count, what)
  if internal.kernel.is_static(count) then return end
  fail("%s under a run-time condition or in a run-time loop: all threads of a row must reach it "
    .. "alike; call it before, and choose with where(condition, a, b)", what)
end

-- The results of the next reduction, or what was given where they are not known yet.
local function reduction(row, kind, values, more)
  row.seen = row.seen + 1
  check_reached(row.seen, "a reduction")
  if #values == 0 or values[1] == nil then fail("a reduction without values, as in row:sum()") end
  local known = row.known[row.seen]
  if known then return table.unpack(known) end
  values = type(values[1]) == "table" and values or widened(values)
  more = more or {}
  row.found[row.seen] = { kind = kind, values = values, combine = more.combine, init = more.init,
    second = more.second, moved = more.moved, u = more.u, weight = more.weight,
    add_vector = more.add_vector, start = more.start, is_draw = more.is_draw,
    at_least = more.at_least, keeps = more.keeps }
  if more.stand_in then return table.unpack(more.stand_in) end
  return table.unpack(values)
end

-- The value as an f32, or an f64 if it is one; its type.
local function as_float(value)
  local v = internal.kernel.widened(value)
  local dtype = internal.kernel.dtype_of(v)
  if dtype == f32 or dtype == f64 then return v, dtype end
  return cast(v, f32), f32
end

function Row:sum(...) return reduction(self, "add", { ... }) end

function Row:max(...) return reduction(self, "max", { ... }) end

function Row:min(...) return reduction(self, "min", { ... }) end

function Row:mean(...)
  local sums = { self:sum(...) }
  for i, sum in ipairs(sums) do sums[i] = sum * (1.0 / self.n_columns) end
  return table.unpack(sums)
end

function Row:reduce(value, combine, init)
  if type(combine) ~= "function" then
    fail("row:reduce's argument 2 is of type %s; expected a function of two values, as in "
      .. "row:reduce(v, function(a, b) return a * b end, 1.0)", tiles.type_name(combine))
  elseif init == nil then
    fail("row:reduce's argument 3 is missing; expected the value that changes no other, such as "
      .. "0.0 for a sum")
  end
  return reduction(self, "by function", { value }, { combine = combine, init = init })
end

-- A column, drawn with probabilities in the ratio of the weights, which are not negative; -1 if all
-- are 0. u, an f64 from [0, 1), is the row's random number. With `how`, of row_choices.lua, where
-- draws_at_once says so: `weight` is what weights are made of, once its largest value is known.
function Row:draw(weight, u, how)
  local w, more = as_float(weight), { u = u, is_draw = true, stand_in = { i32(-1) } }
  for key, value in pairs(how or {}) do more[key] = value end
  return reduction(self, how and "max" or "add", { w }, more)
end

-- {====== Groups of columns ======

local MOST_GROUP <const> = 1024

local function check_group(n, what, least)
  if math.type(n) == "integer" and n >= least and n <= MOST_GROUP and n & n - 1 == 0 then return end
  fail("%s: groups of %s columns; expected a power of two, known before the launch, from %d to %d",
    what, tostring(n), least, MOST_GROUP)
end

-- The result of the next reduction of groups, or the value where it is not known yet.
local function in_group(row, kind, what, value, n)
  check_group(n, what, kind == "swap" and 2 or 1)
  row.n_groups = row.n_groups + 1
  check_reached(row.n_groups, what)
  local number = row.n_groups
  row.groups[number] = { kind = kind, values = { M.storable(value, what .. "'s argument 1") },
    n = n, after = row.seen }
  local known = row.known_groups[number]
  if known ~= nil then return known end
  return row.groups[number].values[1]
end

function Row:group_sum(value, n) return in_group(self, "add", "row:group_sum", value, n) end

function Row:group_max(value, n) return in_group(self, "max", "row:group_max", value, n) end

function Row:group_min(value, n) return in_group(self, "min", "row:group_min", value, n) end

-- The value of the column that has the same place in the other half of the group, 0 behind the row.
function Row:group_swap(value, n)
  return in_group(self, "swap", "row:group_swap", value, n)
end

-- A result with one value for each group of n columns, that of the group's first one.
function Row:group_once(value, n)
  check_group(n, "row:group_once", 1)
  self.sizes[#self.sizes + 1] = n
  return { group = M.storable(value, "row:group_once's argument 1"), n = n }
end

-- {====== Softmax and other elements ======

-- The least finite number: below what is added, and exp(lowest - lowest) is no NaN.
local function least_finite(dtype)
  return cast(dtype == f64 and -0x1.fffffffffffffp+1023 or -0x1.fffffep+127, dtype)
end

-- exp(v), the fast one if all elements of the row's inputs are narrow.
function Row:exp(v)
  if self.is_narrow then return fast.exp(v) end
  return exp(v)
end

-- The maximum m and the sum of exp(v - m): in two steps if a block has the row, one after the other
-- if a cluster has it, where two steps take too many registers; else in one pass, in which the sum
-- is scaled whenever the maximum grows. `element`, nil: an element of the row, which it has picked.
-- Each thread's maximum is at least that if it has few elements. So it is there before the first
-- reduction: ptxas would read it where it is used, behind all reductions, and one thread would wait
-- for memory twice. Threads with many elements have no register for it.
local function max_and_sum_exp(self, value, element, keeps)
  local v, dtype = as_float(value)
  local lowest = least_finite(dtype)
  local known = element ~= nil and self.has_few and cast(as_float(element), dtype) or nil
  if self.holds and not self.has_two_steps then
    local top = max(self:max(v), lowest)
    return top, self:sum(self:exp(v - top))
  elseif self.holds then
    local function add_vector(top, sum, values)
      local most, more = max(values[0], lowest), {}
      for e = 1, #values do most = max(most, values[e]) end
      local now = max(top, most)
      for e = 0, #values do more[e] = self:exp(values[e] - now) end
      local powers = table.move(more, 0, #values, 0, {})
      local n = #values + 1 -- a power of two
      while n > 1 do
        n = n // 2
        for e = 0, n - 1 do more[e] = more[e] + more[e + n] end
      end
      return now, sum * self:exp(top - now) + more[0], powers
    end
    local top, sum = reduction(self, "max", { v }, { stand_in = { v, v }, add_vector = add_vector,
      start = { lowest, cast(0, dtype) }, at_least = known, keeps = keeps,
      second = function(most) return { self:exp(v - max(most, lowest)) } end,
      moved = function(sums, mosts, all)
        return { sums[1] * self:exp(max(mosts[1], lowest) - max(all[1], lowest)) }
      end })
    return max(top, lowest), sum
  end
  local both = self:reduce({ top = v, sum = cast(1, dtype) }, function(a, b)
    local top = max(a.top, b.top)
    return { top = top,
      sum = a.sum * self:exp(a.top - top) + b.sum * self:exp(b.top - top) }
  end, { top = lowest, sum = cast(0, dtype) })
  return both.top, both.sum
end

-- row:mean_and_variance where all warps, and all blocks, have equally many elements.
local function mean_of_equal_parts(row, v, dtype)
  local function mean_of(sum, n) return sum * cast(1.0 / n, dtype) end
  local sum, squares = reduction(row, "add", { v }, { stand_in = { v, v },
    second = function(own)
      local d = v - mean_of(own, row.per_warp)
      return { d * d }
    end,
    moved = function(sums, own, all, n, n_all)
      local d = mean_of(own[1], n) - mean_of(all[1], n_all)
      return { sums[1] + cast(n, dtype) * d * d }
    end })
  return mean_of(sum, row.n_columns), mean_of(squares, row.n_columns)
end

function Row:max_and_sum_exp(value, element) return max_and_sum_exp(self, value, element) end

-- exp(v) / the sum of exp(v) over the row. Where threads have kept the powers that they added, each
-- to a base that its vector has, the last pass computes one power for each vector.
function Row:softmax(value)
  local top, sum = max_and_sum_exp(self, value, nil, true)
  local scale, kept = 1.0 / sum, self.place.kept and self.place.kept[self.seen]
  if not kept then return self:exp(as_float(value) - top) * scale end
  local e, j = self.place.element, self.place.j
  if e == 0 then kept.factors[j] = self:exp(kept.bases[j] - top) * scale end
  return kept.powers[{ e, j }] * kept.factors[j]
end

-- The mean and the mean of (v - mean)^2: in two steps if a block has the row, where a warp has the
-- squares of distances from its own mean; else one after the other.
function Row:mean_and_variance(value)
  local v, dtype = as_float(value)
  if not self.has_two_steps then
    local mean = self:mean(v)
    local d = v - mean
    return mean, (self:mean(d * d))
  end
  if self.per_warp then return mean_of_equal_parts(self, v, dtype) end
  local one, share = cast(1, dtype), cast(1.0 / self.n_columns, dtype)
  local function distance(sum, n, mean) return sum / max(n, one) - mean end
  local sum, _, squares = reduction(self, "add", { v, one }, { stand_in = { v, v, v },
    second = function(own, n)
      local d = v - own / max(n, one)
      return { d * d }
    end,
    moved = function(sums, own, all)
      local d = distance(own[1], own[2], all[1] / max(all[2], one))
      return { sums[1] + own[2] * d * d }
    end })
  return sum * share, squares * share
end

local function element_at(self, name, column, note, read)
  if type(name) ~= "string" then
    fail("row:at's argument 1 is of type %s; expected an argument's name, as in row:at(\"x\", "
      .. "column)", tiles.type_name(name))
  end
  for i, input in ipairs(self.names) do
    if input.name == name then
      if input.kind == "number" or input.kind == "of row" then return self.inputs[i].value end
      if input.kind == "table" then
        fail("row:at: %s is a table; index it, as in %s[i]", name, name)
      end
      if note then note(name) end
      return read(self.inputs[i].slice, column)
    end
  end
  fail("row:at: there is no argument '%s'", name)
end

-- The element of the named input in that column of the row.
function Row:at(name, column)
  return element_at(self, name, column, self.note_at, function(slice, at) return slice[at] end)
end

-- t[{first, column}] of a table (rows, columns) whose columns go with those of the row: `each`
-- columns of the row in turn have one of the table. A vector reads all of its own at once.
function Row:along(t, first, column, each)
  local width, words, e = self.place.width, self.place.words, self.place.element
  local n = words and width // each or 1
  local rest = n < 2 and n or size(t, 1) % n
  -- Only what is known decides: what elements share is not made under a condition.
  if not internal.kernel.is_static(rest) or rest ~= 0 then return t[{ first, column }] end
  local key = self.n_along
  self.n_along = key + 1
  key = "along " .. key
  if words[key] == nil then
    local found = fragment(t.dtype, n)
    copy(tile(t(first, _), { n }, { column // n }), found)
    words[key] = found
  end
  return words[key][e // each]
end

-- The extent of a table's mode, from 0 on, known before the launch.
function Row:extent(name, mode)
  for _, input in ipairs(self.names) do
    if input.name == name and input.kind == "table" and input.extent[mode + 1] then
      return input.extent[mode + 1]
    end
  end
  fail("row:extent: there is no table '%s' with a mode %s", tostring(name), tostring(mode))
end

-- That an argument has one value for each row, or for all.
function Row:expect_once(name)
  for _, input in ipairs(self.names) do
    local is_wide = input.kind == "elements" or input.kind == "columns"
    if input.name == name and is_wide and self.n_columns > 1 then
      fail("%s has a value for each column; expected one for each row, of the shape (..., 1)", name)
    end
  end
end

-- 24 random bits of the element's row and column, an i32. Four neighbours of a vector share a call
-- of Philox.
function Row:random(seed, stream)
  self.n_random = self.n_random + 1
  check_reached(self.n_random, "row:random")
  local column, e, words = self.at_column, self.place.element, self.place.words
  if not words then
    return dropping.bits(dropping.words(seed, self.at_row, column // 4, stream or 0), column % 4)
  end
  local key = self.n_random .. " " .. e // 4
  words[key] = words[key] or dropping.words(seed, self.at_row, column // 4, stream or 0)
  return dropping.bits(words[key], e % 4)
end

function Row:length() return self.n_columns end

function Row:column() return self.at_column end

function Row:index() return self.at_row end

function Row.column_sum(_, value)
  return { column = M.storable(value, "row:column_sum's argument") }
end

function Row.once(_, value)
  return { once = M.storable(value, "row:once's argument") }
end

-- A value for the passes from here on: computed in the first of them, then kept in registers.
function Row:keep(value)
  self.kept = self.kept + 1
  check_reached(self.kept, "row:keep")
  local wide = internal.kernel.widened(value)
  return self.keeper and self.keeper(wide, self.kept, self.seen) or wide
end

-- What make() returns in the row's first call, the same for all elements of the row: it depends on
-- no reduction, and is made before the passes.
local function made_once(row, what, make)
  row.n_kept_once = row.n_kept_once + 1
  check_reached(row.n_kept_once, what)
  if row.seen > 0 then
    fail("%s after a reduction: its value is made before the first one; call it before all "
      .. "reductions", what)
  end
  local kept, number = row.kept_once, row.n_kept_once
  if kept == nil then return make() end
  if kept[number] == nil then kept[number] = M.storable(make(), what .. "'s argument") end
  return kept[number]
end

-- A value that is the same for all elements of the row and depends on no reduction.
function Row:keep_once(value)
  return made_once(self, "row:keep_once", function() return value end)
end

-- Has the row this column?
function Row:is_column(column)
  return column >= 0 and column < self.n_columns
end

-- The element of the named input in a column that all elements of the row agree on and that depends
-- on no reduction: it is read with the row. Where the row has no such column the element is that of
-- column 0, and `check` names the column if `wanted`, nil: always.
function Row:pick(name, column, wanted)
  return made_once(self, "row:pick", function()
    return element_at(self, name, column, self.note_pick, function(slice, at)
      local _ = slice[wanted == nil and at or where(wanted, at, 0)] -- for `check`; it is not read
      local place = where(self:is_column(at), at, 0)
      if self.is_row == nil then return slice[place] end
      local found = fragment(slice.dtype, 1)
      clear(found)
      if self.is_row then found[0] = slice[place] end
      return found[0]
    end)
  end)
end

-- What threads must be to pick an element: those beyond the last row leave rows alone that others
-- write. nil: all pick.
local function pick_if(p, thread)
  if p.spares then return thread.is_row end
end

--- The row of one call of the function: `known` has the results of the first reductions; `keeper`
--- gets a value to keep, its number, and how many reductions come before it. `known_groups` has the
--- results of the first reductions of groups; `place` is {element = of a vector, words = what the
--- vector's elements share, nil: nothing}.
function M.new(p, thread, known, column, keeper, known_groups, place)
  return setmetatable({ place = place or {}, n_random = 0,
    known_groups = known_groups or {}, groups = {}, n_groups = 0, sizes = {},
    known = known, found = {}, seen = 0, kept = 0, keeper = keeper, n_kept_once = 0,
    n_along = 0,
    kept_once = thread.kept_once,
    holds = p.holds or p.stages or p.slots,
    has_few = p.holds and p.keeps,
    has_two_steps = p.parts == 1 and (p.holds or p.stages) or p.slots ~= nil,
    per_warp = p.warps_send and p.is_whole and p.deep * p.width * WARP or nil,
    draws_at_once = p.draws_at_once, is_narrow = p.is_narrow, n_columns = p.columns,
    at_row = thread.row, at_column = column, names = p.inputs, inputs = thread.inputs,
    note_at = p.note_at, note_pick = p.note_pick,
    is_row = pick_if(p, thread) }, Row)
end

-- {====== Calls ======

local function check_row(row)
  if type(row) == "table" and getmetatable(row) == Row then return end
  fail("a method of the row was called with '.'; write ':', as in row:sum(x)")
end

--- The names of the row's methods.
M.names = {}
for name, method in pairs(Row) do
  if name ~= "__index" then
    M.names[#M.names + 1] = name
    Row[name] = function(row, ...)
      check_row(row)
      return method(row, ...)
    end
  end
end

return M
