-- command_tune.lua: `cuttle tune [options] script.lua [arguments]`: runs the script and tunes each
-- function of `tune` that it calls, once for each key; `cuttle tune --list` and `--merge` are for
-- files of results.
--|tune script.lua       run it, tune the functions made by `tune`, and keep the results (--list)
local plural = require "cuttle.plural"
local store = require "cuttle.store"
local tune = require "cuttle.tune"
local values = require "cuttle.option_values"
local internal = ...
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"

local USAGE <const> = "usage: cuttle tune [options] script.lua [arguments]\n"
  .. "       cuttle tune --list [FILE ...]       prints results\n"
  .. "       cuttle tune --merge=FILE FILE ...   adds the results of files to FILE\n"
  .. "\n"
  .. "Runs the script on its device and tunes each function made by `tune` that it calls, once\n"
  .. "per key, even if there are results. A GPU times the configurations; without one, a model\n"
  .. "ranks them. The results go to script.tune beside the script, where the script's later\n"
  .. "calls find them. See docs/tune.md.\n"
  .. "\n"
  .. "  --file=FILE           write the results to FILE\n"
  .. "  --on=NAME             the GPU to model, such as H100, if there is no GPU\n"
  .. "  --all                 print each configuration, not only the best\n"
  .. "\n"
  .. "Ctrl-C ends the search in progress and keeps the best result so far. The exit code is\n"
  .. "the script's, or 1 if it tunes nothing."

local fail = script_command.failing "tune"

-- {====== The table ======

local function ms_text(ms) return ms and ("%.4g ms"):format(ms) or "" end

local function tried_lines(tuned)
  local list = table.move(tuned.tried, 1, #tuned.tried, 1, {})
  local function ms_of(c) return c.why and math.huge or c.ms or c.predicted_ms or math.huge end
  table.sort(list, function(a, b)
    if ms_of(a) ~= ms_of(b) then return ms_of(a) < ms_of(b) end
    return a.text < b.text
  end)
  for i, c in ipairs(list) do
    list[i] = ("  %-40s %12s%s%s"):format(c.text, ms_text(not c.why and (c.ms or c.predicted_ms)),
      (c.registers or 0) > 0 and (" %d registers"):format(c.registers) or "",
      c.why and " refused: " .. c.why or "")
  end
  return list
end

-- What was found, as it is found; with `all` also what was tried; and what was not kept.
local function new_session(options, rows)
  return {
    file = options.file, device = options.device,
    on_result = function(tuned, row, why)
      rows[#rows + 1] = row
      rows.n_lost, rows.why = rows.n_lost + (why and 1 or 0), why or rows.why
      if options.all then rows[row] = tried_lines(tuned) end
    end,
  }
end

local function print_tried(rows)
  for _, row in ipairs(rows) do
    if rows[row] then
      print(("%s for %s"):format(row.name, row.key))
      print(table.concat(rows[row], "\n"))
    end
  end
end

-- {====== Running ======

-- The file of results. Where it cannot be written, nothing is tuned.
local function file_of(options)
  if not options.file and options.script == "-" then
    fail("the script has no name, so name the file of results, as in --file=gemm.tune")
  end
  local path = options.file or options.script:gsub("%.lua$", "") .. ".tune"
  local ok, why = store.try(path)
  if not ok then fail("cannot write %s", why) end
  return path
end

local function run(script, options)
  local rows = { n_lost = 0 }
  options.file = file_of(options)
  tune.session = new_session(options, rows)
  local ok, what = run_script.call(script, table.unpack(options.rest))
  tune.session = nil
  return rows, #rows, ok, what
end

local function deliver(rows, options)
  print_tried(rows)
  print(store.table(rows))
  print(("%s in %s"):format(plural(#rows - rows.n_lost, "result"), options.file))
  if rows.n_lost > 0 then fail("%s in no file: %s", plural(rows.n_lost, "result"), rows.why) end
end

local tunes = script_command.new {
  name = "tune", usage = USAGE, on_device = true,
  options = {
    file = function(o, value)
      if value == "" then fail("--file needs a name, as in --file=gemm.tune") end
      o.file = value
    end,
    on = function(o, value) o.device = values.device(fail, value) end,
    all = function(o) o.all = true end,
    list = function() fail("--list comes first, as in cuttle tune --list gemm.tune") end,
    merge = function()
      fail("--merge comes first, as in cuttle tune --merge=all.tune a.tune b.tune")
    end,
  },
  flags = { all = true },
  run = run, deliver = deliver,
  say_missing = function(_, options)
    fail("%s called no tuned function; for matmul and attention there is "
      .. "require \"cuttle.matmul\".tune; see docs/tune.md", options.script)
  end,
}

-- {====== Files ======

local n_faults = 0

-- The results of a file; it tells of lines that should be results but are not.
local function read(path)
  local file <close>, why = io.open(path, "rb")
  if not file then fail("cannot read %s", why) end
  local rows, faults = store.read(path)
  if not rows then fail("cannot read %s", faults) end
  for _, fault in ipairs(faults) do
    io.stderr:write(("tune: %s\n"):format(store.fault_text(path, fault)))
  end
  n_faults = n_faults + #faults
  return rows
end

-- Without names: what scripts have found here.
local function default_file()
  local folder = internal.host.cache_folder()
    or fail("there is no folder of the cache; name a file")
  local path = folder .. "/tuned.txt"
  local file <close> = io.open(path, "rb")
  if not file then fail("nothing has been tuned yet: there is no %s; name a file", path) end
  return path
end

local function list(files)
  if #files == 0 then files = { default_file() } end
  local rows = {}
  for _, path in ipairs(files) do
    for _, row in ipairs(read(path)) do rows[#rows + 1] = row end
  end
  print(store.table(rows))
end

local function merge(into, files)
  if into == "" or #files == 0 then
    fail("--merge needs the file to add to and others, as in --merge=all.tune a.tune b.tune")
  end
  local n = 0
  for _, path in ipairs(files) do
    local rows = read(path)
    local ok, why = store.add(into, rows)
    if not ok then fail("cannot write %s", why) end
    n = n + #rows
  end
  print(("%s of %s in %s, which has %d"):format(plural(n, "result"), plural(#files, "file"), into,
    #read(into)))
end

-- Calls f(files) for the arguments behind --list or --merge.
local function with_files(f, files)
  for _, name in ipairs(files) do
    if name == "--help" then return print(USAGE) end
    if name:find "^%-" then
      fail("files were expected, not the option %s; see cuttle tune --help; a file of that name "
        .. "is ./%s", name, name)
    end
  end
  n_faults = 0
  f(files)
  if n_faults > 0 then run_script.leave(1) end
end

return function(first, ...)
  local into = (first or ""):match "^%-%-merge=(.*)" or first == "--merge" and ""
  if into then return with_files(function(files) merge(into, files) end, { ... }) end
  if first == "--list" then return with_files(list, { ... }) end
  return tunes(first, ...)
end
