-- options.lua: the options of the commands that run a script. They stand on both sides of the
-- script, up to `--`; what else stands after the script is the script's.
local language = require "cuttle"
local near = require "cuttle.near"
local M = {}

local COMMON <const> = { "device", "traceback" } -- program_options.c takes them

-- "'a' or 'b'" of names as options.
local function as_options(nearest) return (nearest:gsub("'([^']+)'", "'--%1'")) end

--- Tells whoever mistyped an option of the command after the script that the script gets it.
--- `names`: a list of the command's options, or a text of them with blanks between.
function M.note_late(command, arg, names)
  local list = type(names) == "table" and names or {}
  for name in (type(names) == "string" and names or ""):gmatch "%S+" do list[#list + 1] = name end
  local word = arg:match "^%-%-([%a][%w_-]*)"
  local nearest = word and near.nearest(word, list)
  if nearest then
    io.stderr:write(("cuttle: %s is not an option of %s, so the script gets it; did you mean %s?\n")
      :format(arg, command, as_options(nearest)))
  end
end

-- Words that are commands of other programs -> what to do here.
local RUN <const> = "to run a script, write cuttle script.lua"
local PROMPT <const> = "for the prompt, write cuttle alone"
local NOTHING <const> = "a script needs no project: write script.lua, and run cuttle script.lua"
local EMIT <const> = "cuttle emit script.lua prints the CUDA C, and with --compile compiles it, too"
local theirs <const> = {
  run = RUN, exec = RUN, start = RUN, repl = PROMPT, shell = PROMPT, console = PROMPT,
  new = NOTHING, init = NOTHING, create = NOTHING, build = EMIT, compile = EMIT,
  test = "cuttle check script.lua finds what kernels do wrong, cuttle judge compares their results",
  docs = "cuttle help lists the names of the language, and explains one",
  list = "cuttle help lists the names of the language, and explains one",
}

--- What to add to the message that a script called `word` cannot be opened.
function M.hint(word, commands, options)
  if theirs[word] then return theirs[word] end
  if language[word] ~= nil then
    return ("%s is a name of the language: use it in a script, or by cuttle -e 'CODE'; "
      .. "cuttle help %s explains it"):format(word, word)
  end
  for name in options:gmatch "%S+" do
    if name == word then return ("write cuttle --%s"):format(word) end
  end
  local list = {}
  for name in commands:gmatch "%S+" do list[#list + 1] = name end
  local nearest = near.nearest(word, list)
  return (nearest and ("did you mean the command %s? "):format(nearest) or "")
    .. "cuttle --help lists the commands"
end

-- {====== Reading ======

local Reader <const> = {}
Reader.__index = Reader

function Reader:fail(format, ...) self.raise(format .. "; see cuttle %s --help", ...) end

-- The name and value of an option, --NAME, --NAME=VALUE or -N; nil of anything else.
local function split(command, arg)
  local short = command.short and arg:match "^%-(%a)$"
  if short then return command.short[short], "", false end
  local name, equals, value = arg:match "^%-%-([^=]+)(=?)(.*)$"
  return name, value, equals == "="
end

-- Takes the option at args[at], which the command knows; gives where the next argument is.
function Reader:take(at, name, value, has_value)
  local command, args = self.command, self.args
  local is_flag = command.flags and command.flags[name]
  local following = command.values_follow
  if type(following) == "table" then following = following[name] end
  local follows = not is_flag and (following or args[at]:find "^%-%a")
  if is_flag and has_value then self:fail("--%s takes no value", name, command.name) end
  if follows and not has_value then value, at = args[at + 1] or "", at + 1 end
  if follows and value == "" then self:fail("--%s needs a value", name, command.name) end
  command.options[name](self.options, value)
  return at + 1
end

local function names_of(command)
  local names = table.move(COMMON, 1, #COMMON, 1, { "help" })
  for name in pairs(command.options) do names[#names + 1] = name end
  return names
end

-- An argument that is no option which the command knows.
function Reader:take_other(arg)
  local options, command = self.options, self.command
  if options.script then
    if not self.is_over then M.note_late(command.name, arg, names_of(command)) end
    options.rest[#options.rest + 1] = arg
  elseif arg:find "^%-." and not self.is_over then
    self:fail("unknown option %s", arg, command.name)
  else
    options.script = arg
  end
end

--- The options of a command for the arguments: what command.options[NAME](options, value) sets,
--- `script` and its arguments `rest`; nil after --help, for which command.usage is printed.
--- command.short: [LETTER] = NAME of -LETTER VALUE. `flags` and `values_follow`: see
--- script_command.lua. `raise` raises a formatted message.
function M.read(command, args, raise)
  local self = setmetatable({ command = command, args = args, raise = raise,
                              options = { rest = {} }, is_over = false }, Reader)
  local at = 1
  while args[at] do
    local name, value, has_value = split(command, args[at])
    if self.is_over then
      self:take_other(args[at])
      at = at + 1
    elseif args[at] == "--" then
      self.is_over, at = true, at + 1
    elseif name == "help" then
      print(command.usage)
      return nil
    elseif name and command.options[name] then
      at = self:take(at, name, value, has_value)
    else
      self:take_other(args[at])
      at = at + 1
    end
  end
  return self.options
end

return M
