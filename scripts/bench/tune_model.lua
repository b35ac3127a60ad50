-- tune_model.lua: how well predicted times order configurations.
local folder = arg[0]:match "^(.*/)" or "./"
package.path = folder .. "?.lua;" .. package.path
local ct = require "cuttle"
local predict = require "cuttle.predict"
local race = require "cuttle.race"
local ranks = require "tune_ranks"
local spaces = require "tune_spaces"

local help <const> = [[
cuttle scripts/bench/tune_model.lua COMMAND FILE [option ...] [kernel ...]
  measure FILE   on a GPU: times the spaces of tune_spaces.lua, in random order, and adds a line for
                 each pair of a shape and a configuration: kernel, shape, what, ms, configuration
  table FILE     without a GPU: predicts what FILE has, and prints how the orders agree
  counts FILE    without a GPU: what the model knows of each of these pairs, as a Lua table
  KERNEL may be large_hopper, large_simt, large_mma or large_stencil: spaces of 50 and more
  --seconds=N    measure: stops after so many seconds (600)
  --device=NAME  table: predict for this device (H200)
  --each=N       counts: every N-th pair (1)
]]

local MS <const>, BATCHES <const>, MOST <const> = 8, 3, 5000 -- of a batch; batches; launches of one

local function fail(...) error("tune_model: " .. string.format(...), 0) end

-- {====== Arguments ======

local function read_arguments(command, file, ...)
  local options, names = { seconds = 600, device = "H200", each = 1 }, {}
  for _, text in ipairs { ... } do
    local key, value = text:match "^%-%-(%w+)=(.+)$"
    if key and options[key] == nil then fail("option --%s is unknown", key) end
    if key then
      options[key] = type(options[key]) == "number" and tonumber(value) or value
    else
      names[#names + 1] = text
    end
  end
  return command, file, options, #names > 0 and names or spaces.names
end

-- By kernel, shape and configuration.
local function key_of(x) return x.kernel .. "\t" .. x.shape .. "\t" .. x.config end

local function cases_of(names)
  local cases = {}
  for _, name in ipairs(names) do
    if not spaces[name] then fail("'%s' is no kernel of tune_spaces.lua", name) end
    for _, case in ipairs(spaces[name]()) do cases[#cases + 1] = case end
  end
  return cases
end

-- {====== Measuring ======

local function time_of(case)
  local launch <const>, keep = case.make()
  local once = math.max(ct.bench(launch, { batches = 1, reps = 2 }), 1e-4)
  local reps = math.max(2, math.min(MOST, math.ceil(MS / once)))
  local times = {}
  for i = 1, BATCHES do times[i] = ct.bench(launch, { batches = 1, reps = reps }) end
  table.sort(times)
  for _, tensor in ipairs(keep) do tensor:close() end
  return times[(BATCHES + 1) // 2]
end

local function measure(file, options, names)
  if not ct.device().sm then fail("there is no GPU in use") end
  local out <close> = assert(io.open(file, "a"))
  math.randomseed(21)
  local cases, began, failed = race.shuffled(cases_of(names), math.random), os.time(), 0
  for i, case in ipairs(cases) do
    if os.time() - began > options.seconds then
      print(("stopped after %d of %d pairs"):format(i - 1, #cases))
      break
    end
    local ok, ms = pcall(time_of, case)
    if ok then
      out:write(("%s\t%s\t%s\t%.6f\t%s\n"):format(case.kernel, case.shape, case.what, ms,
        case.config)):flush()
    else
      failed = failed + 1
      print("no: " .. key_of(case):gsub("\t", " ") .. ": " .. tostring(ms))
    end
    collectgarbage()
  end
  print(("%s: %d seconds, %d failed"):format(ct.device().name, os.time() - began, failed))
end

-- {====== Predicting ======

local function times_in(file)
  local times = {}
  for line in io.lines(file) do
    local kernel, shape, _, ms, config = line:match "^(.-)\t(.-)\t(.-)\t(.-)\t(.*)$"
    if kernel then
      times[key_of { kernel = kernel, shape = shape, config = config }] = tonumber(ms)
    end
  end
  return times
end

-- The cases that were timed, with their times.
local function timed(file, names)
  local times, list = times_in(file), {}
  for _, case in ipairs(cases_of(names)) do
    case.ms = times[key_of(case)]
    if case.ms then list[#list + 1] = case end
  end
  return list
end

-- Sets `predicted` of all cases, from texts that are compiled at once.
local function predict_all(list, device)
  ct.device "cpu"
  local all = {}
  for i, case in ipairs(list) do
    local played, why = predict.play(case.make(), device)
    if not played then fail("%s: %s", key_of(case), why) end
    all[i] = played
    collectgarbage()
  end
  predict.compile(all, function() return true end)
  for i, case in ipairs(list) do
    local result, why = predict.of(all[i])
    if not result then fail("%s: %s", key_of(case), why) end
    case.predicted = result
  end
end

local function print_table(file, options, names)
  local list, began = timed(file, names), os.clock()
  predict_all(list, options.device)
  for _, case in ipairs(list) do case.predicted = case.predicted.ms end
  local seconds = os.clock() - began
  io.write(ranks.text(list))
  print(("%d pairs, %.0f ms of the CPU for each, registers from the cache or NVRTC"):format(#list,
    1e3 * seconds / math.max(#list, 1)))
end

-- {====== Counts ======

local function text_of(x)
  if type(x) == "string" then return ("%q"):format(x) end
  if math.type(x) == "float" then return ("%.6g"):format(x) end
  if type(x) ~= "table" then return tostring(x) end
  local names, parts = {}, {}
  for name in pairs(x) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    local left = type(name) == "number" and ("[%d]"):format(name) or name
    parts[i] = left .. " = " .. text_of(x[name])
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function print_counts(file, options, names)
  local list = {}
  for i, case in ipairs(timed(file, names)) do
    if i % options.each == 0 then list[#list + 1] = case end
  end
  predict_all(list, options.device)
  print "return {"
  for _, case in ipairs(list) do
    local pair = { kernel = case.kernel, shape = case.shape, config = case.config, ms = case.ms,
                   launches = {} }
    for i, launch in ipairs(case.predicted.launches) do pair.launches[i] = launch.work end
    print("  " .. text_of(pair) .. ",")
  end
  print "}"
end

local commands <const> = { measure = measure, table = print_table, counts = print_counts }

local function main(...)
  local command, file, options, names = read_arguments(...)
  if not commands[command] or not file then return io.write(help) end
  commands[command](file, options, names)
end

main(...)
