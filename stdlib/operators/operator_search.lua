-- operator_search.lua: makes results for operator_table.lua: measures an operator's configurations
-- on the GPU in use or, without one, asks the model for another device's. An operator is
--   name
--   problem(args, options, device)   `device` is one of the model's; nil: the one in use
--   key(p), candidates(p)            of its table; the rule's configuration comes first
--   prepared(args, options, config)  a function that launches it
local internal = ...
local errors = require "cuttle.fail"
local devices = require "cuttle.profile_device"
local model = require "cuttle.predict"
local spaces = require "cuttle.space"
local store = require "cuttle.store"
local tables = require "cuttle.operator_table"
local M = {}

-- The model's order of times that differ by less says nothing.
local MARGIN <const> = 0.05
local DEFAULT <const> = "H200"

local function fail(op, format, ...) errors.fail(op.name, format, ...) end

-- {====== Measured ======

-- A function of a configuration that gives one of the tensors, which prepares each launch once:
-- what is timed is the launch.
local function preparing(op, options)
  local last, launches = {}, {}
  return function(config)
    return function(...)
      local args = { ... }
      for i = 1, math.max(#args, #last) do
        if args[i] ~= last[i] then last, launches = args, {} end
      end
      launches[config] = launches[config] or op.prepared(last, options, config)
      launches[config]()
    end
  end
end

local function measure(op, args, options, file)
  local p = op.problem(args, options)
  local tuned = tune(preparing(op, options), op.candidates(p),
    { name = op.name, key = function() return op.key(p) end, file = file })
  return select(2, tuned:tune(table.unpack(args)))
end

-- {====== Predicted ======

-- Milliseconds of a candidate by the model, or infinity; and the launches.
local function time(op, args, options, config, device)
  local result = model.run(function() op.prepared(args, options, config)() end, device.name)
  return result and result.ms or math.huge, result
end

-- The same launches on another device with as many multiprocessors.
local function time_on(result, device)
  local ms = 0
  for _, launch in ipairs(result and result.launches or {}) do
    local there = model.launch(launch.work, device)
    ms = ms + (there and there.ms or math.huge) * launch.launches
  end
  return result and ms or math.huge
end

-- A device with measured rules that is like it except in memory or clock.
local function measured_like(device)
  for _, other in ipairs(devices.devices) do
    if other.measured and other.sm == device.sm and other.sms == device.sms then return other end
  end
end

-- The times of all candidates, as parts of the first one's. Where the rule was measured on a like
-- device, nothing is better there: what the model says to the contrary is its error, and counts as
-- one here.
local function ratios(op, args, options, list, device)
  local like = measured_like(device)
  local first, first_there, out = nil, nil, {}
  for i, config in ipairs(list) do
    local ms, result = time(op, args, options, config, device)
    local there = like and time_on(result, like)
    first, first_there = first or ms, first_there or there
    local error = like and math.min(1, there / first_there) or 1
    out[i] = { ms = ms, ratio = ms / first / error }
  end
  return out
end

--- The result of the model for a device, as "A100": the rule's configuration, unless another one
--- is faster by more than the model knows. nil: it has no time for that.
function M.predict(op, args, options, name)
  local device = devices.find(name or DEFAULT)
  if not device then
    fail(op, "device is '%s'; one of %s was expected", tostring(name), devices.names())
  end
  local p = op.problem(args, options, device.name)
  local list = op.candidates(p)
  local best, times = 1, ratios(op, args, options, list, device)
  if times[1].ms == math.huge then return nil end
  for i = 2, #list do
    local ratio = times[i].ratio
    if ratio < 1 - MARGIN and ratio < times[best].ratio then best = i end
  end
  local ms = tonumber(("%.4g"):format(times[best].ms)) -- more digits say nothing
  return { name = op.name, how = "predicted", ms = ms, device = device.name,
           driver = "-", key = op.key(p), config = spaces.text(list[best]),
           source = internal.host.hash "", is_rule = best == 1 }
end

-- {====== Both ======

local function file_of(op, how)
  local folder = internal.host.cache_folder()
  return how.file or folder and folder .. "/tuned.txt"
    or fail(op, "there is no folder of the cache; name a file: {file = \"mine.tune\"}")
end

local function keep_prediction(op, args, options, device, file)
  local row = M.predict(op, args, options, device)
    or fail(op, "the model has no time for this problem, or there is no NVRTC")
  local ok, why = store.add(file, { row })
  if not ok then fail(op, "cannot write %s", why) end
  return row
end

--- Finds the best configuration for tensors and the operator's options, and keeps the result in
--- how.file, else where the operator looks by itself: on a GPU by measurement, elsewhere by the
--- model of how.device. Returns the result.
function M.tune(op, args, options, how)
  local file = file_of(op, how)
  local row = device().sm and measure(op, args, options, file)
    or keep_prediction(op, args, options, how.device, file)
  tables.renew()
  return row
end

return M
