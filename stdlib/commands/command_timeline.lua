-- command_timeline.lua: `cuttle timeline [options] script.lua [arguments]`: runs the script on the
-- CPU engine and prints, for each kernel that it launched, which warps of a block work and wait.
--|timeline script.lua   run it and show which warps of a block work and which wait (--svg=FILE)
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"
local timeline = require "cuttle.timeline"
local timeline_page = require "cuttle.timeline_page"
local values = require "cuttle.option_values"

local USAGE <const> = "usage: cuttle timeline [options] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine. For the first launch of each specialisation it prints\n"
  .. "which warps of one block work, which wait, and for what. The times come from a model: they\n"
  .. "show what waits for what, not how long a GPU takes. Launches of ranks that run at the same\n"
  .. "time are shown together. docs/debugging.md has more.\n"
  .. "\n"
  .. "  --kernel=NAME         show only launches of this kernel\n"
  .. "  --launch=N            show only the N-th launch; with --kernel, the N-th of that kernel\n"
  .. "  --block=X,Y,Z         show this block; default: 0,0,0\n"
  .. "  --model=NAME=N,...    change numbers of the model, such as copy=900,copy_bytes=32\n"
  .. "  --measure             run the script on its GPU; show the measured times beside the\n"
  .. "                        predicted ones\n"
  .. "  --marks=LINE,...      show when warps reach these lines of the script\n"
  .. "  --svg=FILE            write a picture instead of text; several launches go to\n"
  .. "                        FILE, FILE-2, ...\n"
  .. "  --html=FILE           write a page with the pictures of all launches instead\n"
  .. "  --from=N --to=N       show these cycles in the picture\n"
  .. "\n"
  .. "An option's value may be the next argument. The exit code is the script's, or 1 if there is\n"
  .. "no such launch on the CPU engine."

local fail = script_command.failing "timeline"

-- {====== Arguments ======

local function block_of(value)
  local block = {}
  for text in (value .. ","):gmatch("([^,]*),") do
    block[#block + 1] = text:match("^%d+$") and math.tointeger(tonumber(text))
      or fail("--block=%s is not the index of a block; write --block=1,0,0", value)
  end
  if #block > 3 then fail("--block=%s has %d numbers; a block has up to 3", value, #block) end
  return block
end

local function model_of(value)
  local model = {}
  for text in (value .. ","):gmatch("([^,]*),") do
    local name, n = text:match("^([%a_]+)=([%d.]+)$")
    if not tonumber(n) then fail("--model=%s; write --model=copy=900,copy_bytes=32", value) end
    model[name] = tonumber(n)
  end
  return model
end

local MOST_LINES <const> = 64 -- CT_MARK_LINES

local function lines_of(value)
  local lines = {}
  for text in (value .. ","):gmatch("([^,]*),") do
    local line = text:match("^%d+$") and math.tointeger(tonumber(text))
    if not line or line < 1 then
      fail("--marks=%s; write lines of the script, as in --marks=12,20", value)
    end
    lines[#lines + 1] = line
  end
  if #lines > MOST_LINES then
    fail("--marks has %d lines; up to %d were expected", #lines, MOST_LINES)
  end
  return lines
end

local options_of = {
  measure = function(o) o.device = true end,
  marks = function(o, value) o.marks = lines_of(value) end,
  kernel = function(o, value) o.kernel = value end,
  launch = function(o, value) o.launch = values.whole(fail, "launch", value, 1) end,
  block = function(o, value) o.block = block_of(value) end,
  model = function(o, value) o.model = model_of(value) end,
  svg = function(o, value) o.svg = value end,
  html = function(o, value) o.html = value end,
  from = function(o, value) o.from = values.whole(fail, "from", value, 0) end,
  to = function(o, value) o.to = values.whole(fail, "to", value, 1) end,
}

local function check(options)
  if (options.from or options.to) and not (options.svg or options.html) then
    fail("--from and --to apply to the picture; write --svg=FILE or --html=FILE as well")
  end
end

-- {====== Results ======

-- "roles.svg", "roles-2.svg", ...
local function numbered(file, i)
  if i == 1 then return file end
  local stem, ending = file:match("^(.*[^/])(%.[^./]*)$")
  return ("%s-%d%s"):format(stem or file, i, ending or "")
end

local function run(script, options)
  options.call = run_script.call
  local timelines, launches, ok, what = timeline.run(script, options, table.unpack(options.rest))
  return { timelines = timelines, launches = launches }, #timelines, ok, what
end

local function deliver(report, options)
  local shown = { from = options.from, to = options.to }
  if options.html then print(timeline_page.html(report.timelines, options.html, shown)) end
  for i, t in ipairs(report.timelines) do
    if options.svg then
      print(t:svg(numbered(options.svg, i), shown))
    elseif not options.html then
      io.stdout:write(i > 1 and "\n" or "", tostring(t), "\n")
    end
  end
  local left = timeline.unmarked(report.timelines, options.marks or {})
  if #left > 0 then fail("no warp of these blocks reaches line %s", table.concat(left, ", ")) end
end

-- Why there is nothing to show.
local function say_missing(report, options)
  local launches = report.launches
  local where = options.device and "a GPU" or "the CPU engine"
  if #launches == 0 then fail("%s launched no kernel on %s", options.script, where) end
  local of, names, n, grid = {}, {}, 0, nil
  for _, launch in ipairs(launches) do
    if not of[launch.name] then names[#names + 1] = launch.name end
    of[launch.name] = true
    if not options.kernel or launch.name == options.kernel then n, grid = n + 1, launch.grid end
  end
  if n == 0 then
    fail("%s launched no kernel '%s' on %s; it launched %s", options.script,
      options.kernel, where, table.concat(names, ", "))
  elseif options.launch and options.launch > n then
    fail("there is no launch %d; %s made %d", options.launch, options.script, n)
  end
  fail("no such launch has a block (%d,%d,%d); the last one's grid was (%d,%d,%d)",
    options.block and options.block[1] or 0, options.block and options.block[2] or 0,
    options.block and options.block[3] or 0, table.unpack(grid))
end

return script_command.new {
  name = "timeline", usage = USAGE, options = options_of, values_follow = true,
  on_device = function(options) return options.device end, flags = { measure = true },
  check = check,
  run = run, deliver = deliver, say_missing = say_missing,
}
