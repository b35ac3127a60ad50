-- build.lua: puts the playground together: a static folder that works from a disk as well.
--   lua hosts/web/build.lua ENGINE_FOLDER PLAYGROUND
-- ENGINE_FOLDER holds engine.js and engine.wasm as emcc writes them.
local from, to = table.unpack(arg)

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(name, text)
  local file = assert(io.open(to .. "/" .. name, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function copy(path) write(path:match "[^/]+$", read(path)) end

-- What a command prints; its end code must be 0.
local function output(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read "a"
  assert(pipe:close(), command)
  return text
end

-- A text as a literal of JavaScript, which may stand in a script of a page.
local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["<"] = "\\x3c" }
local function literal(text)
  text = text:gsub('[%c"\\<]', function(c) return escapes[c] or ("\\x%02x"):format(c:byte()) end)
  return '"' .. text:gsub("\u{2028}", "\\u2028"):gsub("\u{2029}", "\\u2029") .. '"'
end

local function packed(path)
  return (output(("gzip -9nc '%s' | base64"):format(path)):gsub("%s", ""))
end

-- {====== The engine ======

local function write_engine()
  write("cuttle.wasm.js", 'var CUTTLE_WASM = "' .. packed(from .. "/engine.wasm") .. '";\n')
  write("cuttle.worker.js", "var CUTTLE_WORKER = "
    .. literal(read(from .. "/engine.js") .. "\n" .. read "hosts/web/engine/worker.js") .. ";\n")
  copy "hosts/web/engine/engine.js"
end

-- {====== Pages ======

local function paths(pattern)
  local found = {}
  for path in output("ls " .. pattern):gmatch "[^\n]+" do found[#found + 1] = path end
  return found
end

-- {====== Examples ======

-- The first sentence of the first comment, without the file's name.
local function title_of(text, name)
  local comment = {}
  for line in text:gmatch "([^\n]*)\n" do
    if not line:find "^%-%-" then break end
    comment[#comment + 1] = line:gsub("^%-%-%s*", "")
  end
  local sentence = (table.concat(comment, " ") .. " "):match "^[%w_]+%.lua:%s*(.-)[.:]%s"
  return sentence and sentence:gsub("^%l", string.upper) or name
end

local function example(path)
  local name, text = path:match "[^/]+$", read(path)
  return ("{name: %s, title: %s, text: %s}"):format(literal(name), literal(title_of(text, name)),
    literal(text))
end

local function list(name, items)
  return ("var %s = [\n%s\n];\n"):format(name, table.concat(items, ",\n"))
end

local function write_examples()
  local items = {}
  for i, path in ipairs(paths "examples/*.lua") do items[i] = example(path) end
  write("examples.js", list("CUTTLE_EXAMPLES", items))
end

assert(os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(to, to)))
write_engine()
write_examples()
for _, path in ipairs(paths "hosts/web/page/*.*") do copy(path) end
