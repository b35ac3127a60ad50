-- build.lua: puts the playground together: a static folder that works from a disk as well.
--   lua hosts/web/build.lua ENGINE_FOLDER PICTURES PLAYGROUND
-- ENGINE_FOLDER holds engine.js and engine.wasm as emcc writes them, PICTURES has the tutorial's.
local from, pictures, to = table.unpack(arg)

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

-- Files that each instance has: what an example takes from the folder beside that of the examples.
local function system_files()
  return ('const SYSTEM_FILES = {"/scripts/bench/data.lua": %s};'):format(
    literal(read "scripts/bench/data.lua"))
end

local function write_engine()
  write("cuttle.wasm.js", 'var CUTTLE_WASM = "' .. packed(from .. "/engine.wasm") .. '";\n')
  write("cuttle.worker.js", ("var CUTTLE_WORKER = %s;\n"):format(literal(table.concat({
    read(from .. "/engine.js"), system_files(), read "hosts/web/engine/worker.js" }, "\n"))))
  copy "hosts/web/engine/engine.js"
end

-- {====== Pages ======

-- A page with the parts that it names: `@head.html@` stands for hosts/web/page/parts/head.html.
local function write_page(path)
  write(path:match "[^/]+$", (read(path):gsub("@([%l]+%.html)@\n", function(part)
    return read("hosts/web/page/parts/" .. part)
  end)))
end

local function paths(pattern)
  local found = {}
  for path in output("ls " .. pattern):gmatch "[^\n]+" do found[#found + 1] = path end
  return found
end

-- The editor, of the package libjs-codemirror; its licence travels with it.
local CODEMIRROR <const> = "/usr/share/javascript/codemirror/"
local LICENCE <const> = "/usr/share/doc/libjs-codemirror/copyright"
local editor_files = {
  "lib/codemirror.js", "lib/codemirror.css", "mode/lua/lua.js", "mode/clike/clike.js",
  "addon/hint/show-hint.js", "addon/hint/show-hint.css", "addon/edit/matchbrackets.js",
  "addon/edit/closebrackets.js", "addon/comment/comment.js", "addon/selection/active-line.js",
}

local function write_editor()
  for _, path in ipairs(editor_files) do
    write("codemirror/" .. path:match "[^/]+$", read(CODEMIRROR .. path))
  end
  write("codemirror/LICENCE.txt", read(LICENCE))
end

-- {====== Pages that frames show ======

-- Modules of Lua and texts of stdlib, as the product has them.
local function load_stdlib()
  local version = read("interp/cuttle.h"):match '#define CUTTLE_VERSION "([^"]+)"'
  package.preload["cuttle"] = function() return { _VERSION = version } end
  table.insert(package.searchers, function(name)
    local file = name:match "^cuttle%.(.+)$"
    local is_text = file and file:find "%."
    local path = file and paths(("stdlib/*/%s%s"):format(file, is_text and "" or ".lua"))[1]
    if not path then return nil end
    return is_text and function() return read(path) end or loadfile(path)
  end)
end

-- CUTTLE_PAGES: a list of [before the title, between the title and the data, after the data].
local function write_pages()
  load_stdlib()
  local pages, kinds, texts = require "cuttle.page_file", {}, {}
  for kind in pairs(pages.kinds) do kinds[#kinds + 1] = kind end
  table.sort(kinds)
  for i, kind in ipairs(kinds) do
    local text = pages.text(kind, "\1", "\2")
    local head, middle, tail = text:match "^([^\1]*)\1([^\1\2]*)\2([^\1\2]*)$"
    texts[i] = ("[%s, %s, %s]"):format(literal(head), literal(middle), literal(tail))
  end
  write("pages.js", ("var CUTTLE_PAGES = [%s];\n"):format(table.concat(texts, ",\n")))
end

assert(os.execute(("rm -rf '%s' && mkdir -p '%s/codemirror'"):format(to, to)))
write_engine()
write_editor()
write_pages()
write("examples.js", dofile("hosts/web/programs.lua").script(read, literal))
assert(os.execute(("mkdir '%s/pictures' && cp '%s'/tutorial_*.svg '%s/pictures'")
  :format(to, pictures, to)))
write("notebook_example.js",
  ("var CUTTLE_NOTEBOOK = %s;\n"):format(literal(read "hosts/web/notebook/example.lua")))
copy "stdlib/pictures/house.css"
for _, path in ipairs(paths "hosts/web/page/*.*s hosts/web/notebook/notebook*.*s") do copy(path) end
write_page "hosts/web/page/index.html"
write_page "hosts/web/notebook/notebook.html"
