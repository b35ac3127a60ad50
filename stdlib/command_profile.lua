-- command_profile.lua: `cuttle profile [options] script.lua [arguments]`: runs the script on the
-- CPU engine and prints, for each kernel that it launched, what every line of it does.
local ct = require "cuttle"
local profile = require "cuttle.profile"

local USAGE <const> = "usage: cuttle profile [options] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine and prints for each specialisation that it launches, line\n"
  .. "by line: requests, sectors, bank conflicts, vector widths and why they are not wider,\n"
  .. "divergence and arithmetic, as a GPU would count them; then occupancy and a roofline.\n"
  .. "`bench` runs its function once. docs/debugging.md says what the figures mean.\n"
  .. "\n"
  .. "  --sm=N                compute capability times 10, for registers and occupancy; else 90\n"
  .. "  --on=NAME             the device of the roofline: H100, A100, ...; else one of that sm\n"
  .. "  --json[=FILE]         as JSON, to FILE or standard output, in place of the table\n"
  .. "  --html=FILE           as a page, with the source beside the figures"

local EXITED <const> = {} -- what os.exit raises in the script

local function fail(format, ...)
  error(("profile: %s"):format(format:format(...)), 0)
end

-- {====== Arguments ======

local takers = {
  ["--sm"] = function(o, value)
    o.sm = math.tointeger(tonumber(value))
    if not o.sm then fail("--sm=%s is no compute capability; 90 stands for 9.0", value) end
  end,
  ["--on"] = function(o, value) o.device = value end,
  ["--json"] = function(o, value) o.json = value ~= "" and value or true end,
  ["--html"] = function(o, value)
    if value == "" then fail("--html needs the name of a file, as in --html=profile.html") end
    o.html = value
  end,
  ["--help"] = function(o) o.help = true end,
}

local function read_arguments(args)
  local options, at = {}, 1
  while args[at] and args[at]:find("^%-%-") do
    local name, value = args[at]:match("^([^=]+)=?(.*)$")
    at = at + 1
    if name == "--" then break end
    local take = takers[name] or fail("unknown option %s; see cuttle profile --help", name)
    take(options, value)
  end
  options.script = args[at]
  options.rest = { table.unpack(args, at + 1) }
  return options
end

-- {====== The script ======

-- Runs once, so that the counts are those of one launch; returns its time.
local function bench_once(f)
  local start = os.clock()
  f()
  return math.max((os.clock() - start) * 1e3, 1e-6)
end

-- The script's own way out would be ours too.
local function exit_of_script() error(EXITED, 0) end

local function prepare(options)
  ct.device("cpu")
  arg = { [0] = options.script, table.unpack(options.rest) } -- luacheck: ignore 121 111
  bench = bench_once -- luacheck: ignore 121 111
  os.exit = exit_of_script -- luacheck: ignore 122
  if options.json == true then -- standard output is for the JSON
    io.output(io.stderr)
    print = function(...) -- luacheck: ignore 121
      local texts = table.pack(...)
      for i = 1, texts.n do texts[i] = tostring(texts[i]) end
      io.stderr:write(table.concat(texts, "\t"), "\n")
    end
  end
end

-- {====== Results ======

local function write_file(path, text)
  local file, message = io.open(path, "wb")
  if not file then fail("cannot write %s", message) end
  local ok, why = file:write(text)
  if not (ok and file:close()) then fail("cannot write %s: %s", path, why or "disk full") end
end

local function deliver(result, options)
  if options.html then result:html(options.html) end
  if options.json == true then
    io.stdout:write(result:json(), "\n")
  elseif options.json then
    write_file(options.json, result:json() .. "\n")
  end
  if not options.json and not options.html then io.stdout:write(tostring(result), "\n") end
  if type(options.json) == "string" then io.stdout:write(options.json, "\n") end
  local names = options.json == true and io.stderr or io.stdout
  if options.html then names:write(options.html, "\n") end
end

return function(...)
  local options = read_arguments { ... }
  if options.help then
    print(USAGE)
    return
  end
  if not options.script then fail("a script was expected; see cuttle profile --help") end
  local chunk, why = loadfile(options.script)
  if not chunk then fail("%s", why) end
  prepare(options)
  local result, ok, message = profile.run(chunk, { sm = options.sm, device = options.device },
    table.unpack(options.rest))
  local failed = not ok and message ~= EXITED
  if #result.kernels > 0 then
    deliver(result, options)
  elseif not failed then
    fail("%s launched no kernel on the CPU engine", options.script)
  end
  if failed then error(message, 0) end
end
