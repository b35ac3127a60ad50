-- command_report.lua: `cuttle report WHAT script.lua [arguments]` runs check, profile or timeline
-- as the program does. It also writes a file for the page: REPORT.json has findings as data,
-- REPORT.html is a page. `cuttle report trace ELEMENT script.lua` traces an element of a launch of
-- the script, such as C[5,7]; "" stands for one that the last kernel wrote.
local ct = require "cuttle"
local internal = ...
local json = require "cuttle.json"
local run_script = require "cuttle.run_script"

local REPORT <const> = "/report"
local NARROW <const> = 416 -- of a timeline: with its margins it fits half a window of 1280 pixels

local function write(ending, text)
  assert(write_file(REPORT .. ending, text))
end

local function fail(format, ...) error("trace: " .. format:format(...), 0) end

-- {====== Commands whose results we look at on their way to the text ======

local takers = {}

function takers.check(findings)
  write(".json", json.encode(table.move(findings, 1, #findings, 1, {})))
end

function takers.profile(result)
  if #result.kernels > 0 then result:html(REPORT .. ".html") end
end

function takers.timeline(timelines)
  if #timelines == 0 then return end
  require("cuttle.timeline_page").html(timelines, REPORT .. ".html", { width = NARROW })
end

local function tapped(name)
  local module, take = require("cuttle." .. name), takers[name]
  local run = module.run
  local function pass(...)
    take(...)
    return ...
  end
  module.run = function(...) return pass(run(...)) end
  return require("cuttle.command_" .. name)
end

-- {====== A trace: launches are noted where the script makes them ======

-- Calls seen(launch, args) for each launch of a configuration k{...} before it runs, and for each
-- that is prepared.
local function watch_launches(seen)
  local probe = ct.kernel("probe", function(x) x[0] = 0 end)
  local config = debug.getmetatable(probe { grid = 1, block = 1 })
  local methods = debug.getmetatable(probe).__methods
  local call, prepare = config.__call, methods.prepare
  function config.__call(launch, ...)
    seen(launch, table.pack(...))
    return call(launch, ...)
  end
  function methods.prepare(...)
    local make = prepare(...)
    return function(...)
      local launch = make(...)
      seen(launch, { n = 0 })
      return launch
    end
  end
end

-- "C[5,7]" -> {C = {5, 7}}, "C"
local function read_element(text)
  local name, element = require("cuttle.trace").read_element(text)
  if not name then fail("%s", element) end
  return { [name] = element }, name
end

local function has(names, name)
  for _, other in ipairs(names) do
    if other == name then return true end
  end
end

local function is_tensor(x) return type(x) == "userdata" and x.dtype ~= nil and x.layout ~= nil end

-- The element at (0, ..., 0) of the last parameter that the launch writes there.
local function trace_any(launch, args)
  local unpacked = table.pack(internal.launch.launch(launch))
  local values = unpacked.n > 2 and table.pack(table.unpack(unpacked, 3, unpacked.n)) or args
  for i = #unpacked[1], 1, -1 do
    if is_tensor(values[i]) then
      local zero = {}
      for m = 1, ct.rank(values[i]) do zero[m] = 0 end
      local t = ct.trace(launch, { [unpacked[1][i]] = zero }, table.unpack(args, 1, args.n))
      if #t.rows > 0 then return t end
    end
  end
end

-- Notes the first launch whose kernel has the tensor, and the last of all.
local function tracing(element, name)
  local found = {}
  watch_launches(function(launch, args)
    if found.is_busy or found.trace then return end
    found.launch, found.args = launch, args
    local names = internal.launch.launch(launch)
    if not element or not has(names, name) then return end
    found.is_busy = true
    found.trace = ct.trace(launch, element, table.unpack(args, 1, args.n))
    found.is_busy = false
  end)
  return found
end

local function deliver(t)
  print(t)
  t:html(REPORT .. ".html")
end

-- Why there is none.
local function say_missing(found, text, script)
  if not found.launch then fail("%s launched no kernel on the CPU engine", script) end
  if text ~= "" then fail("no kernel of %s has a parameter of the name in %s", script, text) end
  fail("the last kernel of %s writes no first element; name one, as in C[5,7]", script)
end

local function trace(text, script, ...)
  local element, name
  if text ~= "" then element, name = read_element(text) end
  ct.device "cpu"
  local chunk, why = run_script.load(script, { ... })
  if not chunk then fail("%s", why) end
  local found = tracing(element, name)
  local ok, what = run_script.call(chunk, ...)
  local code, said = run_script.outcome(ok, what)
  if text == "" and found.launch then
    found.is_busy = true
    found.trace = trace_any(found.launch, found.args)
  end
  if found.trace then
    deliver(found.trace)
  elseif code == 0 then
    say_missing(found, text, script)
  end
  run_script.leave(code, said)
end

-- {====== The command ======

return function(what, ...)
  if what == "trace" then return trace(...) end
  return tapped(what)(...)
end
