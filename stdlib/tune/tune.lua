-- tune.lua: tuned = tune(f, space[, options]): f(config) makes what runs with a configuration, and
-- tuned(...) runs it with the best one for its arguments. docs/tune.md is the page for users.
--
-- A call finds its key (tune_key.lua), and for that a result in the files: one for this device and
-- for what f is now (tune_source.lua), whose configuration is in the space. Else it takes the
-- result of the nearest key, or tunes, and keeps what it found (store.lua).
local internal = ...
local judging = require "cuttle.tune_judge"
local bits = require "cuttle.tune_bits"
local keys = require "cuttle.tune_key"
local option_names = require "cuttle.option_names"
local plural = require "cuttle.plural"
local race = require "cuttle.race"
local sources = require "cuttle.tune_source"
local spaces = require "cuttle.space"
local store = require "cuttle.store"
local devices = require "cuttle.profile_device"
local M = {}

-- What `cuttle tune` sets: {file =, device =, on_result = function(tuned, row, why)}, where `why`
-- says why the file has not got the row, or is nil. Then each key is tuned anew, once.
M.session = nil

local MODEL_SM <const> = 90 -- of the device that the model speaks of where none is named
local fail = require "cuttle.fail".of "tune"
local tiles = require "cuttle.tiles"

-- A sandbox has no files and no standard error.
local function say(format, ...)
  if io and io.stderr then io.stderr:write("tune: ", format:format(...), "\n") end
end

local Tuned = {}
local tuned_type = tiles.new_type("tuned function", Tuned, { "tried", "runs", "seconds" })

-- {====== Where it runs ======

-- What the model knows of a GPU: of that name, else of its capability.
local function model_of(here)
  local known = devices.like(here.name) or devices.find(nil, here.sm)
  return (known or devices.find(nil, MODEL_SM)).name
end

-- The device in use: {name =, driver =, is_gpu =, model =}; without a GPU the one that the model
-- speaks of.
local function place_of(self)
  local here = device()
  if here.sm then
    return { name = here.name, driver = internal.host.driver(), is_gpu = true,
      model = model_of(here) }
  end
  local device = devices.find(M.session and M.session.device or self.options.device, MODEL_SM)
  return { name = device.name, driver = "-", is_gpu = false, model = device.name }
end

-- A result of the model for "H200" is one for "NVIDIA H200".
local function is_for(row, place)
  return row.device == place.name or row.how == "predicted" and row.device == place.model
end

-- Can anything be tuned here and now? Not while launches are recorded, emitted or watched, and not
-- by one rank of several.
local function may_tune()
  local launch = internal.launch
  return launch.emit_sm() == nil and not launch.graph_recording()
    and not internal.kernel.is_tracing() and not launch.is_watched() and launch.rank() == nil
end

-- {====== Files ======

-- The file that belongs to a script, by its name.
local function file_beside(script) return (script:gsub("%.lua$", "")) .. ".tune" end

-- The script that runs. f may be in another file, which the script requires.
local function main_script()
  local args = rawget(_G, "arg")
  local script = type(args) == "table" and args[0]
  return type(script) == "string" and script ~= "-" and script or nil
end

-- Where results are written: named by the options or the command, else in the cache's folder.
local function own_file(self)
  if M.session and M.session.file then return M.session.file end
  if self.options.file then return self.options.file end
  local folder = internal.host.cache_folder()
  return folder and folder .. "/tuned.txt"
end

local function read_file(path)
  local rows, faults = store.read(path)
  if not rows then fail("cannot read %s", faults) end
  store.tell(path, faults, say)
  return rows
end

-- The files that may have results, each once; later ones count more.
local function files_of(self)
  local list, main = {}, main_script()
  local function add(path)
    if not path then return end
    for _, known in ipairs(list) do
      if known == path then return end
    end
    list[#list + 1] = path
  end
  add(own_file(self))
  add(self.script and file_beside(self.script))
  add(main and file_beside(main))
  return list
end

-- The results for what f is now, of all files, and found in this run; later ones count more.
local function load_rows(self)
  local rows = {}
  for _, path in ipairs(io and files_of(self) or {}) do
    for _, row in ipairs(read_file(path)) do
      if row.source == self.source then rows[#rows + 1] = row end
    end
  end
  return rows
end

local function rows_of(self)
  self.rows = self.rows or load_rows(self)
  return self.rows
end

-- nil; or why the file has not got it.
local function keep(self, row)
  table.insert(rows_of(self), row)
  local path = io and own_file(self)
  if not path then return nil end
  local _, why = store.add(path, { row })
  if why then say("the result is not kept: %s", why) end
  return why
end

-- {====== Known results ======

local order <const> = { predicted = 1, partial = 2, measured = 3 }

-- Of two results for one key the one that knows more, with this driver, the later.
local function is_preferred(row, best, place)
  if not best then return true end
  if order[row.how] ~= order[best.how] then return order[row.how] > order[best.how] end
  return row.driver == place.driver or best.driver ~= place.driver
end

-- Is it good enough to stand instead of tuning?
local function is_settled(row, place) return row.how == "measured" or not place.is_gpu end

-- The result for the key, or, if `is_near`, for the nearest one.
local function find_row(self, key, place, by_text, is_near)
  local best, least = nil, math.huge
  for _, row in ipairs(rows_of(self)) do
    local far = by_text[row.config] and is_for(row, place) and keys.distance(row.key, key)
    if far and (far == 0 or is_near) and far <= least
      and (is_near or is_settled(row, place))
      and (far < least or is_preferred(row, best, place)) then
      best, least = row, far
    end
  end
  return best
end

-- {====== Tuning ======

local function row_of(self, candidate, how, ms, key, place)
  return { name = self.name, how = how, ms = ms, device = place.name, driver = place.driver,
           key = key, config = candidate.text, source = self.source }
end

local function reasons(list)
  for _, candidate in ipairs(list) do
    if candidate.why then return candidate.text .. ": " .. candidate.why end
  end
  return "stopped before any was tried"
end

local function for_key(key) return key == "" and "" or " for " .. key end

-- Those that the model finds best, where only so many may be timed.
local function within_budget(self, judge, list, step)
  local budget = self.options.budget
  if not budget or #list <= budget then return list end
  local before = device()
  device "cpu"
  local ok, best = pcall(judging.predict_all, judge, list, step)
  device("cuda:" .. before.ordinal)
  if not ok then error(best, 0) end
  if #best == 0 then best = list end
  return table.move(best, 1, budget, 1, {})
end

-- How many steps of the bar it takes.
local function steps_on_gpu(n_all, n)
  return 2 * n + race.count(n) + (n < n_all and judging.predict_steps(n_all) or 0)
end

local function tune_on_gpu(self, judge, list, step)
  local tried = within_budget(self, judge, list, step)
  judging.compile_all(judge, tried, step)
  local left, may_go_on = judging.check_all(judge, tried, step)
  if #left == 0 then return nil end
  if not may_go_on then step = function() return false end end
  local best, is_done = judging.race(judge, left, step)
  return best, best and best.ms, is_done and may_go_on and "measured" or "partial"
end

local function tune_by_model(_, judge, list, step)
  local left = judging.predict_all(judge, list, step)
  local best = judging.first_right(judge, left, list[1])
  return best, best and best.predicted_ms, "predicted"
end

-- Of results and the reference; what a contract's own configuration computes counts to the bit.
local function tolerance_of(self)
  local has_own = self.contract and self.contract.candidate
  if self.options.bits and not has_own then return { rtol = 0, atol = 0 } end
  return self.options.tolerance
end

-- Those that keep to the contract, if there is one.
local function within_contract(self, judge, list, place, step)
  if not self.contract then return list end
  return bits.kept(self.contract, judge, list, place, step, function(format, ...)
    fail("%s: " .. format, self.name, ...)
  end)
end

local function tune_key(self, key, place, ...)
  keys.check_arguments(...)
  local list = spaces.allowed(self.candidates, self.options.where, ...)
  local judge = judging.new { f = self.f, args = table.pack(...), device = place.model,
    tolerance = tolerance_of(self), reference = self.options.reference }
  local n_steps = place.is_gpu
    and steps_on_gpu(#list, math.min(self.options.budget or #list, #list))
    or judging.predict_steps(#list)
  if self.contract then n_steps = n_steps + #list end
  local progress <close> = internal.host.search("tune " .. self.name, n_steps)
  local how_to = place.is_gpu and tune_on_gpu or tune_by_model
  local function step() return progress:step() end
  local left = within_contract(self, judge, list, place, step)
  local best, ms, how
  if #left > 0 then best, ms, how = how_to(self, judge, left, step) end
  self.tried, self.runs, self.seconds = list, judge.runs, progress:seconds()
  if not best then
    fail("%s: %s%s\n%s", self.name, #list == 1 and "the only configuration does not run"
      or ("none of the %d configurations runs"):format(#list), for_key(key), reasons(list))
  end
  local row = row_of(self, best, how, ms, key, place)
  local why = keep(self, row)
  if how == "predicted" then
    say("%s: no GPU here, so the model ranks: %s%s, %.4g ms on %s", self.name, best.text,
      for_key(key), ms, place.name)
  end
  if M.session then M.session.on_result(self, row, why) end
  return row
end

-- {====== Picking ======

local function refuse_inside(self)
  if self.is_tuning then
    fail("%s: the function that is tuned calls its own tuned function", self.name)
  end
end

-- A coroutine that yields while its launches are watched, and is left so, would keep them watched.
local function tuned_row(self, ...)
  refuse_inside(self)
  self.is_tuning = true
  local _ <close> = setmetatable({}, { __close = function() self.is_tuning = nil end })
  return internal.launch.call(tune_key, self, ...)
end

local function by_text(candidates)
  local t = {}
  for _, candidate in ipairs(candidates) do t[candidate.text] = candidate end
  return t
end

-- The result for a key that is not in memory yet; nil: nothing is known, and nothing can be tuned.
local function look_up(self, key, place, allowed, ...)
  if M.session and may_tune() then return tuned_row(self, key, place, ...) end
  local row = find_row(self, key, place, allowed, false)
  if row then return row end
  if self.options.unknown ~= "nearest" and may_tune() then
    return tuned_row(self, key, place, ...)
  end
  return find_row(self, key, place, allowed, true)
end

-- {candidate =, row =} for the arguments; without a row the first configuration of the space.
local function pick(self, ...)
  local place = place_of(self)
  local key = self.key(...)
  local id = place.name .. "\t" .. key
  local picked = self.picked[id]
  if picked then return picked end
  local list = spaces.allowed(self.candidates, self.options.where, ...)
  local allowed = by_text(list)
  local row = look_up(self, key, place, allowed, ...)
  if not row then refuse_inside(self) end -- the first configuration would call it without end
  local candidate = row and allowed[row.config] or list[1]
  if self.contract and not (row and row.key == key) then -- the order depends on the shapes
    row, candidate = nil, bits.fallback(self.contract, allowed, key, function(format, ...)
      fail("%s: " .. format, self.name, ...)
    end)
  end
  picked = { candidate = candidate, row = row }
  if may_tune() then self.picked[id] = picked end
  return picked
end

local function run_of(self, candidate)
  local run, why = judging.make(candidate, self.f)
  if not run then
    fail("%s: the configuration %s does not run: %s", self.name, candidate.text, why)
  end
  return run
end

local function check_self(self, name)
  if getmetatable(self) ~= tuned_type then
    fail("%s is a method; write tuned:%s(x, y), with a colon", name, name)
  end
end

function tuned_type:__call(...) return run_of(self, pick(self, ...).candidate)(...) end

--- The configuration for these arguments, and the result that chose it, or nil.
function Tuned:config(...)
  check_self(self, "config")
  local picked = pick(self, ...)
  return picked.candidate.config, picked.row
end

--- Tunes for these arguments, whatever is known: the configuration and the result.
function Tuned:tune(...)
  check_self(self, "tune")
  local place, key = place_of(self), self.key(...)
  if not may_tune() then
    fail("%s: launches are recorded, emitted or watched here, or a rank runs, so nothing can be "
      .. "timed; tune before that", self.name)
  end
  local row = tuned_row(self, key, place, ...)
  local candidate = by_text(self.candidates)[row.config]
  self.picked[place.name .. "\t" .. key] = { candidate = candidate, row = row }
  return candidate.config, row
end

-- What is known, as a table: of equal results of several files one.
function tuned_type:__tostring()
  local rows = store.distinct(rows_of(self))
  if #rows == 0 then
    return ("%s: %s, no results"):format(self.name, plural(#self.candidates, "configuration"))
  end
  return store.table(rows)
end

-- {====== Options ======

local readers <const> = {
  where = function(v) return type(v) == "function", "a function of the configuration" end,
  key = function(v)
    return type(v) == "function" or type(v) == "table",
      "numbers of arguments, as {1, 2}, or a function"
  end,
  unknown = function(v) return v == "tune" or v == "nearest", '"tune" or "nearest"' end,
  file = function(v)
    return type(v) == "string" and v:find "^%Z+$" ~= nil, "the name of a file"
  end,
  name = function(v) return type(v) == "string" and v ~= "", "a name" end,
  device = function(v)
    return type(v) == "string" and devices.find(v) ~= nil, "one of " .. devices.names()
  end,
  budget = function(v) return math.type(v) == "integer" and v > 0, "a number of configurations" end,
  bits = bits.is_option,
  tolerance = option_names.tolerance,
  reference = function(v) return type(v) == "function", "a function of the arguments" end,
}

local function script_of(f)
  local info = debug and debug.getinfo(f, "S")
  return info and info.source:match "^@(.*)"
end

function M.tune(f, space, options)
  options = options or {}
  if type(f) ~= "function" then
    fail("argument 1 is a %s; a function was expected that makes a launch of a configuration: "
      .. "function(config) return function(x, y) ... end end", type(f))
  end
  option_names.check("tune", options, readers)
  local candidates = spaces.candidates(space)
  local contract = bits.contract(options.bits, candidates, fail)
  return setmetatable({ f = f, candidates = candidates, options = options, contract = contract,
    key = keys.new(options.key), source = bits.source(sources.hash(f), options.bits, contract),
    name = options.name or sources.place(f), script = script_of(f), picked = {} }, tuned_type)
end

return M
