-- operator_table.lua: what `tune` found for an operator's configurations, by device. The rows are
-- results of store.lua: those that are shipped (matmul.tune, attention.tune), those of the cache's
-- tuned.txt, and of files that M.use names. A row's key is a problem, and its class what the
-- operator's own rule chooses there. So a row says what is better on its device than what the rule
-- chooses, for its key, and for the problems of its class to which its key is the nearest.
-- A place is a device: {name =, sm =, n_sms =}.
local internal = ...
local devices = require "cuttle.profile_device"
local keys = require "cuttle.tune_key"
local store = require "cuttle.store"
local M = {}

local fail = require "cuttle.fail".fail
local tiles = require "cuttle.tiles"

-- {====== Rows ======

--- The rows of a table's text, each with the number of its line; nil and why: a line is no result.
function M.parse(text, path)
  local rows, faults = store.parse(text)
  local fault = faults[1]
  if fault then return nil, store.fault_text(path, fault) end
  return rows
end

local MOST_KEPT <const> = 1000 -- problems

local used, known = {}, {} -- rows of files; what all_rows and M.rows found
local near, n_near = {}, 0 -- rows by problem

--- How often results were forgotten: choices made before may be others now.
M.generation = 0

local function forget()
  known, near, n_near = {}, {}, 0
  M.generation = M.generation + 1
end

local function text_of(name, path)
  local text, why = store.text(path)
  return text or fail(name, "cannot read %s", why)
end

--- Reads an operator's results from this file, too. trouble_of(row): why the operator cannot know
--- the row, or nil.
function M.use(name, path, trouble_of)
  if type(path) ~= "string" then fail(name, "the name of a file was expected, as \"mine.tune\"") end
  local rows, why = M.parse(text_of(name, path), path)
  if not rows then fail(name, "%s", why) end
  for _, row in ipairs(rows) do
    local trouble = row.name == name and trouble_of(row)
    if trouble then fail(name, "%s:%d: %s", path, row.line, trouble) end
  end
  table.move(rows, 1, #rows, #used + 1, used)
  forget()
end

--- Reads the cache's results anew, since some were added.
function M.renew() forget() end

-- An empty field is that of the line before: so scripts/embed.lua writes them.
local function with_repeats(text)
  local last = {}
  return (text:gsub("[^\n]+", function(line)
    local fields = {}
    for value in (line .. "\t"):gmatch "([^\t]*)\t" do
      fields[#fields + 1] = value ~= "" and value or last[#fields + 1]
    end
    last = fields
    return table.concat(fields, "\t")
  end))
end

local shipped = {}

--- The rows that are shipped.
function M.shipped(name)
  if not shipped[name] then
    local text = with_repeats(require("cuttle." .. name .. ".tune"))
    shipped[name] = assert(M.parse(text, name .. ".tune"))
  end
  return shipped[name]
end

-- What an operator does not get, it works without.
local function say(format, ...)
  if io and io.stderr then io.stderr:write("tune: ", format:format(...), "\n") end
end

-- A cache that cannot be read has no results.
local function cached()
  local folder = io and internal.host.cache_folder()
  if not folder then return {} end
  local path = folder .. "/tuned.txt"
  local rows, faults = store.read(path)
  if rows then
    store.tell(path, faults, say)
  else
    say("%s", faults)
  end
  return rows or {}
end

-- Later ones count more.
local function all_rows(name)
  local rows = table.move(M.shipped(name), 1, #M.shipped(name), 1, {})
  for _, list in ipairs { cached(), used } do
    for _, row in ipairs(list) do
      if row.name == name then rows[#rows + 1] = row end
    end
  end
  return rows
end

-- {====== Devices ======

-- What is known of the place's device: {name =, sm =, sms =}.
local function device_at(place)
  return devices.like(place.name) or { name = place.name, sm = place.sm, sms = place.n_sms }
end

-- How far a device is from another one: by capability, then by multiprocessors.
local function distance(a, b)
  return 100 * math.abs(a.sm - b.sm) + math.abs(math.log(a.sms / b.sms, 2))
end

-- The name of the device whose shipped rows stand for the place's: its own or, as the rules are
-- not measured there, the nearest one.
local function stands_for(name, here)
  local best, least = nil, math.huge
  for _, row in ipairs(M.shipped(name)) do
    local of = devices.like(row.device)
    if of.name == here.name then return of.name end
    local far = distance(of, here)
    if far < least or far == least and of.name < best then best, least = of.name, far end
  end
  return best
end

-- The rows that hold at a place, {row =, is_own =, at =, rest =, numbers =} each: those of its
-- device, and of the one that stands for it; the last two are of the key.
local function rows_at(name, place)
  local here, list = device_at(place), {}
  local other = stands_for(name, here)
  for i, row in ipairs(all_rows(name)) do
    local of = devices.like(row.device)
    local is_own = row.device == place.name or of ~= nil and of.name == here.name
    if is_own or of and of.name == other then
      local rest, numbers = keys.split(row.key)
      list[#list + 1] = { row = row, is_own = is_own, at = i, rest = rest, numbers = numbers }
    end
  end
  return list
end

--- The same, found once.
function M.rows(name, place)
  local id = name .. "\t" .. place.name
  known[id] = known[id] or rows_at(name, place)
  return known[id]
end

-- {====== Choice ======

-- The first alternative, and its nearest key, first; of one key those of the device itself, then
-- what knows more, then what came later.
local function is_before(a, b)
  if a.rank ~= b.rank then return a.rank < b.rank end
  if a.far ~= b.far then return a.far < b.far end
  if a.is_own ~= b.is_own then return a.is_own end
  if a.row.how ~= b.row.how then return store.is_better(a.row, b.row) end
  return a.at > b.at
end

-- The alternatives without numbers, by their rank; all have the same numbers.
local function ranks_of(alternatives)
  local ranks, numbers = {}, nil
  for rank, key in ipairs(alternatives) do
    local rest
    rest, numbers = keys.split(key)
    ranks[rest] = rank
  end
  return ranks, numbers
end

local function in_order(q)
  local list, ranks, numbers = {}, ranks_of(q.alternatives())
  for _, of in ipairs(M.rows(q.name, q.place)) do
    local rank = ranks[of.rest]
    local far = rank and keys.apart(of.numbers, numbers)
    if far and far <= q.farthest then
      list[#list + 1] = { row = of.row, is_own = of.is_own, at = of.at, rank = rank, far = far }
    end
  end
  table.sort(list, is_before)
  return list
end

-- Is the row of the problem's class? Found once.
local function is_alike(entry, q)
  if entry.is_alike == nil then
    entry.is_alike = entry.far == 0 or q.class_of(entry.row.key) == q.class
  end
  return entry.is_alike
end

--- What q.read(row) returns for the nearest row for which it is not nil, and the row; nil: there is
--- none. q: {name =, place =, key =, alternatives =, farthest =, class =, class_of =};
--- class_of(key) is the class of another problem; alternatives() lists the key and those of
--- problems of these sizes that one configuration computes alike; farthest: how far a row's key may
--- be, the sum of the logarithms of its numbers' ratios.
function M.pick(q)
  local id = table.concat({ q.name, q.place.name, q.key, q.class }, "\t")
  if not near[id] then
    if n_near == MOST_KEPT then near, n_near = {}, 0 end
    near[id], n_near = in_order(q), n_near + 1
  end
  for _, entry in ipairs(near[id]) do
    local choice = is_alike(entry, q) and q.read(entry.row)
    if choice then return choice, entry.row end
  end
end

-- {====== Options ======

--- Those of explain and tune by these names, which are texts, and what is left for the operator.
function M.options(name, options, names)
  local own, rest = {}, {}
  if options ~= nil and type(options) ~= "table" then
    fail(name, "the options are of type %s; expected a table, as {device = \"A100\"}",
      type(options))
  end
  for key, value in pairs(options or {}) do (names[key] and own or rest)[key] = value end
  for key, value in pairs(own) do
    if type(value) ~= "string" then
      fail(name, "%s is of type %s; expected a name, as %s", key, type(value), names[key])
    end
  end
  return own, rest
end

--- An option that asks for a configuration leaves nothing to be explained or tuned.
function M.check_free(name, options, names)
  for _, key in ipairs(names) do
    if options[key] ~= nil then
      fail(name, "explain and tune are about what %s chooses by itself; leave out the option %s",
        name, key)
    end
  end
end

-- {====== Words ======

local words <const> = { measured = "measured on", partial = "measured in part on",
                        predicted = "predicted for" }

-- The device where the rules for the capability were measured.
local function rule_text(place)
  for _, device in ipairs(place and devices.devices or {}) do
    if device.measured and device.sm == place.sm then
      return "by the rule, which was measured on " .. device.name
    end
  end
  return "by the rule"
end

--- How a choice was made, in words; without a row by the operator's rule.
function M.text(row, key, place)
  if not row then return rule_text(place) end
  local text = ("%s %s"):format(words[row.how], row.device)
  if row.key ~= key then return ("%s for %s"):format(text, row.key) end
  return ("%s: %.4g ms"):format(text, row.ms)
end

local explanation_type = tiles.new_type("explanation", {}, { "device", "ms" })
function explanation_type:__tostring() return ("%s: %s"):format(self.config, self.text) end

--- What an operator's explain returns: {config =, key =, how =, text =, device =, ms =}, the last
--- two of the row. It prints as a line.
function M.explanation(config, key, row, place)
  return setmetatable({ config = config, key = key, how = row and row.how or "rule",
    text = M.text(row, key, place), device = row and row.device, ms = row and row.ms },
    explanation_type)
end

return M
