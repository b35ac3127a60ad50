-- explain_owners.lua: entries of explain: who owns the elements of a thread-value layout, an atom
-- or a part, and whether each has exactly one owner.
local coverage = require "cuttle.coverage"
local plural = require "cuttle.plural"
local listed = require "cuttle.explain_text".listed
local M = {}

local fail = require "cuttle.fail".of "explain"
local lists = require "cuttle.lists"

-- {====== Coverage ======

-- `outside`: how many numbers beyond low..high there are.
function M.add_coverage(report, noun, seen, low, high, outside)
  local missed, doubled = coverage.gaps(seen, low, high)
  if missed.n == 0 and doubled.n == 0 then
    report:add("coverage", "each %s %s exactly once", noun, coverage.range_text(low, high))
  else
    report:add("coverage", "%ss %s: %d missed, %d more than once", noun,
      coverage.range_text(low, high), missed.n, doubled.n)
  end
  if missed.n > 0 then
    report:add("", "missed: %s", listed(missed:texts()))
  end
  if doubled.n > 0 then
    report:add("", "more than once: %s", listed(doubled:texts()))
  end
  if outside > 0 then
    report:add("", "outside: %s beyond the end, marked !", plural(outside, "place"))
  end
end

-- {====== Owners ======

local function who_text(who)
  local texts = lists.map(who or {}, function(owner)
    return ("thread %d value %d"):format(owner[1], owner[2])
  end)
  return #texts == 0 and "nobody" or listed(texts, " and ")
end

function M.coord_text(index, shape)
  return tostring(idx2crd(index, shape))
end

function M.elements_text(indices, shape)
  local texts = lists.map(indices, function(index) return M.coord_text(index, shape) end)
  return listed(texts, " ")
end

local function owned_text(owners, thread)
  return ("thread %d: %s"):format(thread, listed(owners.of[thread] or {}, " "))
end

local function tuple_text(tuple)
  if type(tuple) ~= "table" then
    return tostring(tuple)
  end
  local texts = lists.map(tuple, tuple_text)
  return "(" .. table.concat(texts, ",") .. ")"
end

local function is_inside(coord, shape)
  if type(shape) ~= "table" or math.type(coord) == "integer" then
    return math.type(coord) == "integer" and coord >= 0 and coord < size(shape)
  end
  for i, part in ipairs(shape) do
    if not is_inside(coord[i], part) then
      return false
    end
  end
  return true
end

-- The number of the element at a coordinate that a user gave: an integer, a table or a text.
function M.index_of(coord, shape)
  local index = crd2idx(coord, shape)
  local nested = type(coord) == "string" and layout(coord).shape or coord
  if not is_inside(nested, shape) then
    fail("coord %s is outside of %s", tuple_text(nested), tuple_text(shape))
  end
  return index
end

local function add_owner_of(report, owners, shape, coord)
  local index = M.index_of(coord, shape)
  report:add("owner", "%s belongs to %s", M.coord_text(index, shape), who_text(owners.who[index]))
end

local function add_owned_by(report, owners, thread, n_threads)
  if math.type(thread) ~= "integer" or thread < 0 or thread >= n_threads then
    fail("thread is %s; an integer from 0 to %d was expected", thread, n_threads - 1)
  end
  report:add("owns", "%s", owned_text(owners, thread))
end

local function add_some_owners(report, owners, n_threads)
  for thread = 0, math.min(3, n_threads - 1) do
    report:add(thread == 0 and "owns" or "", "%s", owned_text(owners, thread))
  end
  if n_threads > 4 then
    report:add("", "... %d more; explain(x, {thread = n}) or {coord = {i, j}} asks for one",
      n_threads - 4)
  end
end

function M.add(report, owners, shape, n_threads, options)
  if options.coord ~= nil then
    add_owner_of(report, owners, shape, options.coord)
  end
  if options.thread ~= nil then
    add_owned_by(report, owners, options.thread, n_threads)
  end
  if options.coord == nil and options.thread == nil then
    add_some_owners(report, owners, n_threads)
  end
  local seen = {}
  for index, who in pairs(owners.who) do
    seen[index] = #who
  end
  M.add_coverage(report, "element", seen, 0, size(shape) - 1, owners.outside)
end

return M
