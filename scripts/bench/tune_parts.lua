-- tune_parts.lua: how many seconds parts of tuning take: those of functions that `tune` calls, with
-- all that these call.
local ct = require "cuttle"
local compare = require "cuttle.compare"
local judging = require "cuttle.tune_judge"
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2) -- the library's own
local M = {}

local watched <const> = {
  { "predict", judging, "predict_all" }, { "compile", judging, "compile_all" },
  { "check", judging, "check_all" }, { "race", judging, "race" },
  { "copies", internal.launch, "clones" }, { "compare", ct, "allclose" },
  { "of it on the device", compare, "on_device" }, { "bench", ct, "bench" },
  { "graphs", ct, "graph" },
}
local seconds = {}

local function watch(clock, name, of, key)
  local f = of[key]
  of[key] = function(...)
    local began = clock:seconds()
    local results = table.pack(f(...))
    local part = seconds[name] or { seconds = 0, calls = 0 }
    part.seconds, part.calls = part.seconds + clock:seconds() - began, part.calls + 1
    seconds[name] = part
    return table.unpack(results, 1, results.n)
  end
end

--- From now on, until the program ends.
function M.begin()
  local clock = internal.host.search("parts", 1)
  for _, row in ipairs(watched) do watch(clock, table.unpack(row)) end
end

--- "compile 0.52 s (1), ...": seconds and calls of each since the last time.
function M.text()
  local out = {}
  for _, row in ipairs(watched) do
    local part = seconds[row[1]]
    if part then out[#out + 1] = ("%s %.2f s (%d)"):format(row[1], part.seconds, part.calls) end
  end
  seconds = {}
  return table.concat(out, ", ")
end

return M
