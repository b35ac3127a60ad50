-- export.lua: export(what, examples, options): kernels as C files. What is launched is noted by
-- export_collect.lua; export_write.lua and export_test.lua write it.
local internal = ...
local c = require "cuttle.export_c"
local collect = require "cuttle.export_collect"
local write = require "cuttle.export_write"
local test = require "cuttle.export_test"
local arguments = require "cuttle.arguments"
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local type_name = require "cuttle.tiles".type_name
local M = {}

local DEFAULT_SM <const> = "90a"
local of_launches <const> =
  { "grid", "block", "cluster", "smem", "pdl", "cooperative", "deterministic" }
local known <const> = lists.with(lists.set(of_launches), { name = true, dir = true, sm = true,
  cpu = option_names.flag, run = option_names.flag })

local fail = require "cuttle.fail".of "export"

-- {====== Writing ======

local function write_out(path, text)
  local ok, why = write_file(path, text)
  if not ok then fail("cannot write %s", why) end
  return path
end

-- The only entry that a user may launch, or nil.
local function only_entry(program)
  local found
  for _, entry in ipairs(program.entries) do
    if entry.is_public then
      if found then return nil end
      found = entry
    end
  end
  return found
end

-- Says which kernels lack code for a capability, and why.
local function say_refused(program)
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.specials) do
      for _, why in ipairs(special.refused) do
        io.stderr:write(("export: %s has no code for %s\n"):format(special.name, why))
      end
    end
  end
end

--- Makes the folder to write to, before anything runs; nil: the current one.
function M.make_folder(dir)
  local ok, why = internal.host.make_folder(dir or ".")
  if not ok then fail("cannot write to %s", why) end
end

--- Writes the files of a program; gives their paths. `script`: the path of the script.
function M.write(program, options, script)
  local base = script:match "[^/\\]*$":gsub("%.lua$", "")
  local only = only_entry(program)
  local name = c.file_name(options.name or only and only.name or base)
  if only then only.name = name end
  write.prepare(program, name, script:match "[^/\\]*$", options.cpu)
  say_refused(program)
  local stem = (options.dir or ".") .. "/" .. name
  return { write_out(stem .. ".h", write.header(program)),
           write_out(stem .. ".c", write.source(program)),
           write_out(stem .. "_test.c", test.source(program)) }
end

-- {====== What is exported ======

-- The configuration for the arguments: that which is given, or the kernel's with the options.
local function configuration(what, options, example)
  if type_name(what) ~= "kernel" then return what end
  local config = {}
  for _, name in ipairs(of_launches) do
    local value = options[name]
    if type(value) == "function" then value = value(table.unpack(example)) end
    config[name] = value
  end
  return what(config)
end

local function check_examples(examples)
  if type(examples) ~= "table" or #examples == 0 then
    fail("the examples are %s; a list of argument lists was expected, as in {{2.0, x, y}}",
      type(examples) == "table" and "empty" or type_name(examples))
  end
  for i, example in ipairs(examples) do
    if type(example) ~= "table" then
      fail("example %d is of type %s; a list of arguments was expected, as in {{2.0, x, y}}", i,
        type_name(example))
    end
  end
end

-- The names of a function's parameters.
local function parameters_of(f)
  local names = {}
  while debug.getlocal(f, #names + 1) do names[#names + 1] = debug.getlocal(f, #names + 1) end
  return names
end

local function launch_example(collection, what, options, example)
  if type(what) ~= "function" then
    configuration(what, options, example)(table.unpack(example))
    return
  end
  local names = parameters_of(what)
  collection:call_function(options.name, function() return what(table.unpack(example)) end,
    function(...)
      local list = {}
      collect.add_tensors(list, names, table.unpack(example))
      collect.add_tensors(list, { "result" }, ...)
      return list
    end)
end

local function check_what(what, options)
  local kind = type_name(what)
  if kind == "tuned function" then
    fail "a tuned function is exported in another one: function(x, y) tuned(x, y) end"
  elseif kind == "function" and not options.name then
    fail "a function needs a name; write export(f, examples, {name = \"f\"})"
  elseif kind ~= "function" and kind ~= "kernel" and kind ~= "launch configuration" then
    fail("a %s cannot be exported; a kernel, k{grid = ..., block = ...} or a function was expected",
      kind)
  elseif kind == "kernel" and (options.grid == nil or options.block == nil) then
    fail "a kernel needs grid and block; write export(k, examples, {grid = ..., block = ...})"
  end
end

--- export(what, examples[, options]) -> the paths of the files
function M.export(what, examples, options)
  options = arguments.options("export", options, known, "{sm = \"80,90a\", dir = \"out\"}")
  check_what(what, options)
  check_examples(examples)
  M.make_folder(options.dir)
  local targets = collect.targets(tostring(options.sm or DEFAULT_SM))
  local script = debug.getinfo(2, "S").short_src
  if device().sm then
    fail "it runs the examples on the CPU engine; call device(\"cpu\") first"
  end
  local program = collect.run(targets, options, function(collection)
    for _, example in ipairs(examples) do launch_example(collection, what, options, example) end
  end)
  return table.unpack(M.write(program, options, script))
end

return M
