-- embed.lua: writes the files of stdlib/ as one C file, so that the binary carries them.
--   lua scripts/embed.lua OUT.c stdlib/*/*.lua stdlib/pictures/*.css
-- stdlib/pictures/show.lua becomes the module "cuttle.show". A file of another kind becomes a
-- module that is its text: require "cuttle.page.css" is what stdlib/pictures/page.css holds. So do
-- the annotations in stdlib/meta, which are never run: "cuttle.meta.layout".
-- interp/host/std_modules.h declares the table.

local BYTES_PER_LINE <const> = 24

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- "stdlib/pictures/show.lua" -> "show"; "stdlib/pictures/page.css" -> "page.css";
-- "stdlib/meta/x.lua" -> "meta.x"
-- Folders are rooms for readers: a module is called by its file's name alone.
local function module_name(path)
  local name = path:match("[^/]+$"):gsub("%.lua$", "")
  return path:find("/meta/[^/]+$") and "meta." .. name or name
end

-- A Lua chunk that returns the text: in long brackets of a level that does not occur in it.
local function as_chunk(text)
  local level = ""
  while (text .. "]"):find("]" .. level .. "]", 1, true) do
    level = level .. "="
  end
  return ("return [%s[\n%s]%s]"):format(level, text, level)
end

-- A module that does not parse must fail the build, not the user's first `require`.
local function check_syntax(path, text)
  local chunk, message = load(text, "@" .. path, "t")
  if not chunk then
    io.stderr:write(message, "\n")
    os.exit(1)
  end
end

-- A byte array: C11 promises string literals of no more than 4095 characters.
local function array(name, text)
  local out = { ("static const char %s[] = {"):format(name) }
  for first = 1, #text, BYTES_PER_LINE do
    local last = math.min(first + BYTES_PER_LINE - 1, #text)
    out[#out + 1] = "  " .. table.concat({ text:byte(first, last) }, ",") .. ","
  end
  out[#out + 1] = "  0};"
  return table.concat(out, "\n")
end

local function main(out_path, ...)
  local arrays, rows, places = {}, {}, {}
  for _, path in ipairs { ... } do
    local name, text = module_name(path), read_file(path)
    assert(not places[name],
      ("%s and %s are both the module cuttle.%s"):format(path, places[name], name))
    places[name] = path
    if not path:find("%.lua$") then
      text = as_chunk(text)
    end
    check_syntax(path, text)
    if name:find("^meta%.") then -- what is Lua is checked before it becomes text
      text = as_chunk(text)
    end
    assert(not text:find("[\128-\255]"), path .. ": only ASCII is embedded")
    local id = name:gsub("%W", "_")
    arrays[#arrays + 1] = array("source_" .. id, text)
    rows[#rows + 1] = ('  {"cuttle.%s", source_%s, %d},'):format(name, id, #text)
  end
  rows[#rows + 1] = "  {NULL, NULL, 0},"
  local out = assert(io.open(out_path, "wb"))
  out:write("/* Made by scripts/embed.lua from stdlib/: do not edit. */\n",
    '#include "interp/host/std_modules.h"\n\n',
    table.concat(arrays, "\n\n"), #arrays > 0 and "\n\n" or "",
    "const StdModule std_modules[] = {\n", table.concat(rows, "\n"), "\n};\n")
  assert(out:close())
end

main(...)
