-- folder.lua: a temporary folder for a test that runs commands in it.
--   local f = dofile "tests/support/folder.lua"
--   f.path             the folder, which f.remove() removes
--   f.run(command)     runs it there by the shell: its output with its errors, and the exit code
--   f.write(name, text), f.read(name)      a file there; read gives nil where there is none
--   f.absolute(path)   the path from anywhere of one from where the test was started
local f = { path = os.tmpname() }
os.remove(f.path)
assert(os.execute(("mkdir -p '%s'"):format(f.path)))

function f.run(command)
  local pipe = assert(io.popen(("cd '%s' && { %s ; } 2>&1"):format(f.path, command)))
  local out = pipe:read "a"
  local _, _, code = pipe:close()
  return out, code
end

function f.write(name, text)
  local file = assert(io.open(f.path .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

function f.read(name)
  local file = io.open(f.path .. "/" .. name, "rb")
  local text = file and file:read "a"
  if file then file:close() end
  return text
end

local started_in = io.popen("pwd"):read "l"
function f.absolute(path) return path:find "^/" and path or started_in .. "/" .. path end
function f.remove() os.execute(("rm -rf '%s'"):format(f.path)) end

return f
