-- mcp_tools.lua: the tools of `cuttle mcp`: what a client is told of them, and what they take.
--   M.list                the tools, as {name =, description =, fields =, required =}
--   M.of[name]            one of them; `mode` is "emit" where the program is to emit
--   M.schema(tool)        its JSON schema
--   M.check(tool, arguments)   nil; or what is wrong with them
local lists = require "cuttle.lists"
local M = { list = {}, of = {} }

M.DEFAULT_BUDGET, M.MAX_BUDGET = 4000, 1 << 20 -- characters of an answer
M.DEFAULT_SECONDS, M.MAX_SECONDS = 20, 600
M.DEFAULT_MIB, M.MAX_MIB = 1024, 16384
local MAX_SCRIPT <const> = 1 << 20 -- bytes

-- {====== Fields ======

local function text(description, choices)
  return { type = "string", description = description, enum = choices }
end

local function flag(description) return { type = "boolean", description = description } end

local function count(description, least, most)
  return { type = "integer", description = description, minimum = least, maximum = most }
end

local common <const> = {
  budget = count(("most characters of the answer; default %d. What is longer is a resource")
    :format(M.DEFAULT_BUDGET), 200, M.MAX_BUDGET),
  seconds = count(("time limit; default %d"):format(M.DEFAULT_SECONDS), 1, M.MAX_SECONDS),
  memory = count(("memory limit in MiB; default %d"):format(M.DEFAULT_MIB), 64, M.MAX_MIB),
}

local of_script <const> = {
  script = text "the script's Lua source; or give path",
  path = text "the script's file, a .lua file in the server's folder",
  name = text "what messages call the script; default script.lua, or the path",
  arguments = { type = "array", items = { type = "string" },
                description = "the script's arguments: `...` and `arg`" },
}

local capability <const> = text "compute capability times 10, such as 80 or 90a; default 90a"
local device <const> = text "the device to model, such as H100"

-- {====== Tools ======

local function add(name, description, fields, more)
  local tool = { name = name, description = description, fields = {}, required = {} }
  for key, value in pairs(more or {}) do tool[key] = value end
  for _, set in ipairs { common, tool.is_plain and {} or of_script, fields } do
    for key, field in pairs(set) do tool.fields[key] = field end
  end
  table.insert(M.list, tool)
  M.of[name] = tool
end

add("run", "Runs a script on the CPU engine and returns what it prints, or its error with the line "
  .. "and the remedy.", {})
add("check", "Runs a script and finds what its kernels do wrong: races, deadlocks, wrong indices, "
  .. "uninitialised reads, missing waits. Run it after each edit of a kernel.", {
  nan = flag "also find NaN and infinities that come of other numbers",
  overflow = flag "also find signed integers that wrap around",
  global = flag "false: do not look for races in global memory, which saves time",
  schedules = count("also run each launch in this many other orders; -1: all", -1, 100000),
  preemptions = count("only orders in which at most this many warps are interrupted", 0, 1000),
  needless = flag "also find barriers, waits and fences that could go",
  gate = text "limits of a kernel's figures, such as conflicts<=2, spills=0",
  device = text "also find cooperative grids that this device, such as H100, cannot hold",
})
add("profile", "Runs a script and counts what each line of its kernels costs on a GPU: sectors, "
  .. "bank conflicts, divergence, vector widths, occupancy, roofline.", {
  sm = count("compute capability times 10, without a letter; default 90", 50, 999), device = device,
  hot_loops = flag "also show the machine code of hot loops; needs NVRTC",
})
add("trace", "Says how one element of a tensor came about: which threads wrote it, at which lines, "
  .. "from which elements.", {
  element = text "an element of a kernel's parameter, such as C[5,7], in the last launch with it",
  kernel = text "the last launch of this kernel" },
  { required = { "element" } })
add("timeline", "Shows which warps of a block work, which wait, and for what, with times that a "
  .. "model predicts.", {
  kernel = text "only launches of this kernel",
  launch = count("only the launch of this number, from 1 on", 1, 1 << 30),
  block = { type = "array", items = { type = "integer" },
            description = "this block; default [0,0,0]" },
})
add("emit", "Writes the CUDA C, PTX or SASS of the kernels that a script launches.", {
  form = text("what to write; default cuda. ptx needs NVRTC, sass nvdisasm as well",
    { "cuda", "ptx", "sass" }),
  sm = capability,
}, { mode = "emit" })
add("layout", "Evaluates an expression of the layout algebra, explains it in words, or draws it as "
  .. "SVG.", {
  expression = text "Lua, such as zipped_divide(layout\"(8,8):(8,1)\", \"(2,4)\"), or (4,5):(1,4)",
  action = text("default evaluate", { "evaluate", "explain", "draw" }),
}, { is_plain = true, required = { "expression" } })
add("tune", "Runs a script and ranks the configurations of each function made by tune, by a model "
  .. "of the device. Nothing is measured.", { device = device })
add("judge", "Says whether a kernel computes what a reference does, in bounds, without races and "
  .. "the same each time, whether a GPU could run it, and how long a model predicts. The script "
  .. "returns a function of the inputs and outputs, and the reference a table: see "
  .. "cuttle://docs/judge.md.", {
  reference = text "the reference's Lua source",
  seed = count("draw the cases from this number; default from the time", 0, 1 << 31),
  cases = count("how many cases; default 6", 1, 1000),
  schedules = count("also run each launch in this many other orders; default 4", 0, 1000),
  device = device,
}, { required = { "reference" } })
add("help", "Explains a name of the language, or finds names by a word; else lists all names.", {
  name = text "a name, such as copy", word = text "a word, such as stride" }, { is_plain = true })
add("search", "Finds sections of the documentation by words.", {
  query = text "words", count = count("most sections; default 5", 1, 50),
}, { is_plain = true, required = { "query" }, is_own = true })

function M.schema(tool)
  return { type = "object", properties = tool.fields, additionalProperties = false,
           required = #tool.required > 0 and tool.required or nil }
end

-- {====== What was asked ======

local function is_list(value, item)
  if type(value) ~= "table" then return false end
  for key, x in pairs(value) do
    if math.type(key) ~= "integer" or not item(x) then return false end
  end
  return true
end

local function is_text(value) return type(value) == "string" end
local function is_integer(value) return math.type(value) == "integer" end

local kinds <const> = {
  string = { "a text", is_text }, boolean = { "true or false", function(v)
    return type(v) == "boolean"
  end },
  integer = { "a whole number", is_integer },
  array = { "a list of texts or whole numbers", function(v, field)
    return is_list(v, field.items.type == "string" and is_text or is_integer)
  end },
}

local function wrong_value(name, field, value)
  local kind = kinds[field.type]
  if not kind[2](value, field) then return ("'%s' is not %s"):format(name, kind[1]) end
  if field.minimum and (value < field.minimum or value > field.maximum) then
    return ("'%s' is %d; from %d to %d was expected"):format(name, value, field.minimum,
      field.maximum)
  end
  if field.enum then
    for _, choice in ipairs(field.enum) do
      if choice == value then return nil end
    end
    return ("'%s' is '%s'; one of %s was expected"):format(name, value,
      table.concat(field.enum, ", "))
  end
end

function M.check(tool, arguments)
  for name, value in pairs(arguments) do
    local field = tool.fields[name]
    if not field then
      return ("%s has no argument '%s'; it has %s"):format(tool.name, name,
        table.concat(lists.keys(tool.fields), ", "))
    end
    local why = wrong_value(name, field, value)
    if why then return why end
  end
  for _, name in ipairs(tool.required) do
    if arguments[name] == nil then return ("%s needs '%s'"):format(tool.name, name) end
  end
  if not tool.is_plain and (arguments.script == nil) == (arguments.path == nil) then
    return "give 'script', the source, or 'path', the file, and not both"
  end
  if not (arguments.name or ""):find "^[%w_./-]*$" then
    return "'name' has other characters than letters, digits, _, ., / and -"
  end
  if #(arguments.script or "") > MAX_SCRIPT then
    return ("the script has %d bytes; at most %d were expected"):format(#arguments.script,
      MAX_SCRIPT)
  end
end

return M
