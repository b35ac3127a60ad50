-- shell.lua: runs commands, and the program under test. It has what scripts/shell.lua has, and
--   shell.run(command, ...)       command:format(...), or the command as it is if it stands alone, with an
--                                 empty standard input: its output and errors as one text, and its exit code
--   shell.cuttle(arguments, ...)  the same of the program under test, on the CPU engine
--   shell.input(text, arguments)  the same, with the text on its standard input, as at the prompt
--   shell.program                 the path of the program from any folder
--   shell.file(text)              the path of a new temporary file with that text
--   shell.folder()                the path of a new temporary folder, which the test removes
local shell = dofile "scripts/shell.lua"

local path <const> = arg[-1]
shell.program = (path:find "^/" or not path:find "/") and path or os.getenv "PWD" .. "/" .. path
local program <const> = "CUTTLE_DEVICE=cpu " .. shell.quote(shell.program)

local function filled(format, ...) return ... == nil and format or format:format(...) end

function shell.run(command, ...)
  return shell.capture("{ " .. filled(command, ...) .. "\n} 2>&1 </dev/null")
end

function shell.cuttle(arguments, ...)
  return shell.run(program .. " " .. filled(arguments, ...))
end

function shell.input(text, arguments)
  return shell.capture(("printf %%s %s | %s %s 2>&1"):format(shell.quote(text), program,
    arguments or ""))
end

function shell.file(text)
  local name = os.tmpname()
  shell.write_file(name, text)
  return name
end

function shell.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute(("mkdir -p '%s'"):format(name)))
  return name
end

return shell
