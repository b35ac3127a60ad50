-- A file that is edited between its loading and the trace: loaded text is kept, so the kernel is what was
-- loaded; bytecode may have only its file's name to go by.
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
local function write(text) shell.write_file(path, text) end
local function run(fn)
  local x = zeros(f32, 4)
  local ok, message = pcall(kernel("edited", fn){grid = 1, block = 4}, x)
  print(ok and x[3] or (message:gsub(path, "FILE")))
end
local one = "return function(x)\n  x[threadIdx.x] = 1.0\nend\n"
local two = "return function(x)\n  x[threadIdx.x] = 2.0\nend\n"

write(one)
local by_dofile, by_loadfile = dofile(path), loadfile(path)()
package.path = path .. ";" .. package.path
local by_require = require "edited_by_nobody"
local again = dofile(path)
write(two)
run(by_dofile)                 -- expect: 1.0
run(by_loadfile)               -- expect: 1.0
run(by_require)                -- expect: 1.0
run(dofile(path))              -- expect: 2.0
run(again)                     -- expect: 1.0

-- Bytecode of the file, of which nothing has been loaded for long: its text is looked up in the file.
local function compiled(text)
  local fn = load(string.dump(assert(load(text, "@" .. path))))()
  for i = 1, 20 do load("return " .. i, "@" .. path) end
  return fn
end
write("\n" .. one)
run(compiled("\n" .. one))     -- expect: 1.0
write("\n" .. two)
-- expect: FILE:2: the source of this function has changed since it was loaded; load it again
run(compiled("\n" .. one))
os.remove(path)
