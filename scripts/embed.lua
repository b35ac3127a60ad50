-- embed.lua: writes the files of stdlib/ as one C file, so that the binary carries them.
--   lua scripts/embed.lua OUT.c stdlib/*/*.lua stdlib/pictures/*.css docs/from_*.md
-- stdlib/pictures/show.lua becomes the module "cuttle.show". A file of another kind becomes a
-- module that is its text: require "cuttle.page.css" is what stdlib/pictures/page.css holds. So do
-- the annotations in stdlib/meta, which are never run: "cuttle.meta.layout". All but short modules
-- are carried as bytes, of which packed_text.c makes text again.
-- Modules lose comments, indents and spaces beside punctuation: people read them in stdlib/, and
-- three files of an installation carry all modules. interp/host/std_modules.h declares the table.

local root = arg[0]:match "^(.-)scripts/[^/]*$" or ""
local deflate = dofile(root .. "stdlib/base/deflate.lua").deflate

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

-- What a quoted string of Lua cannot hold as it is.
local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r" }

-- A Lua chunk that makes the text of few bytes.
local function as_packed(text)
  return ('return require"cuttle.inflate""%s"'):format(deflate(text):gsub('["\\\n\r]', escapes))
end

-- A module that does not parse must fail the build, not the user's first `require`.
local function check_syntax(path, text)
  local chunk, message = load(text, "@" .. path, "t")
  if not chunk then
    io.stderr:write(message, "\n")
    os.exit(1)
  end
end

-- The place after the string whose quote is at `at`; after the long bracket there, or nil.
local function after_string(text, at)
  local quote = text:sub(at, at)
  at = at + 1
  while text:sub(at, at) ~= quote do at = at + (text:sub(at, at) == "\\" and 2 or 1) end
  return at + 1
end

local function after_long(text, at)
  local level = text:match("^%[(=*)%[", at)
  return level and select(2, text:find("]" .. level .. "]", at, true)) + 1
end

local function line_end(text, at) return text:find("\n", at, true) or #text + 1 end

-- The place after what begins at `at`: a newline, a string, a comment, or one more character.
local function after_token(text, at)
  local c = text:sub(at, at)
  if c == "'" or c == '"' then return after_string(text, at) end
  if c == "[" then return after_long(text, at) or at + 1 end
  if c == "-" and text:find("^%-", at + 1) then
    return after_long(text, at + 2) or line_end(text, at)
  end
  return at + 1
end

-- Code, in which nothing is a string or a comment, without spaces beside punctuation; ">= " stays
-- apart from "> =".
local function tight(code)
  return (code:gsub(" *([,;{}()]) *", "%1"):gsub("([%w_%])}]) +=", "%1="):gsub("= +", "="))
end

-- The chunk without comments, indents and spaces that say nothing; lines keep their numbers.
local function shortened(text)
  local out, at, begins = {}, 1, true
  while at <= #text do
    if begins then at = text:match("^[ \t]*()", at) end
    local stop = text:find("[\n\"'%[%-]", at) or #text + 1
    local after = stop > #text and stop or after_token(text, stop)
    local token = text:sub(stop, after - 1)
    out[#out + 1] = tight(text:sub(at, stop - 1))
    if not token:find("^%-%-") then
      out[#out + 1] = token
    elseif token:find("\n") then
      out[#out + 1] = token:gsub("[^\n]", "")
    end
    at, begins = after, token == "\n"
  end
  local short = table.concat(out):gsub(" +\n", "\n")
  assert(string.dump(load(short), true) == string.dump(load(text), true))
  return short
end

-- Results of tune, in which fields that the line before has, too, are empty: operator_table.lua
-- fills them in again.
local function without_repeats(text)
  local last = {}
  return (text:gsub("#[^\n]*\n", ""):gsub("[^\n]+", function(line)
    local fields, short = {}, {}
    for value in (line .. "\t"):gmatch("([^\t]*)\t") do
      fields[#fields + 1] = value
      short[#short + 1] = value == last[#fields] and "" or value
    end
    last = fields
    return table.concat(short, "\t")
  end))
end

-- A byte array: C11 promises string literals of no more than 4095 characters.
local function array(name, text)
  local out = { ("static const unsigned char %s[] = {"):format(name) }
  for first = 1, #text, BYTES_PER_LINE do
    local last = math.min(first + BYTES_PER_LINE - 1, #text)
    out[#out + 1] = "  " .. table.concat({ text:byte(first, last) }, ",") .. ","
  end
  out[#out + 1] = "  0};"
  return table.concat(out, "\n")
end

local written_only = { js = true, css = true, html = true, c = true, h = true }

-- The rows of the pages docs/from_*.md, without the names that annotations have.
local function foreign_rows(pages, annotations)
  local foreign, known, rows = dofile(root .. "stdlib/base/foreign.lua"), {}, {}
  for _, path in ipairs(annotations) do
    for line in io.lines(path) do
      local footer = line:match("^%-%-%- (CuTe: .*)$")
      for _, name in ipairs(footer and foreign.footer_names(footer) or {}) do known[name] = true end
    end
  end
  for _, path in ipairs(pages) do
    local more = foreign.page_rows(read_file(path))
    table.move(more, 1, #more, #rows + 1, rows)
  end
  return foreign.packed(rows, known)
end

local PACKED_FROM <const> = 1000 -- bytes

-- What the program's --help says of a command: the lines of its file that begin with `--|`.
local function help_rows(path)
  local rows = {}
  for line in read_file(path):gmatch "%f[^\n]%-%-|([^\n]*)" do
    rows[#rows + 1] = ("  %s\n"):format(line)
  end
  assert(rows[1], path .. " has no line for --help of the program: --|NAME ARGUMENTS  what it does")
  return table.concat(rows)
end

-- How many parameters a list of them names, "(a, b?)"; nil: any number.
local function count_of(list, pattern)
  local _, n = list:gsub(pattern, "")
  return not list:find("...", 1, true) and n or nil
end

local function count_row(object, name, n, is_method)
  return ('  {%s, "%s", %d, %s},'):format(
    object ~= "" and ('"%s"'):format(object:lower()) or "NULL", name, n, is_method)
end

-- A row of std_counts for each annotated function: how many arguments it takes at most. Functions
-- of one number may be called with more, as by acc:map. Then one for each that is a method, too.
local function add_counts(rows, text)
  local most = 0
  for line in text:gmatch "[^\n]+" do
    local overload = line:match "^%-%-%-@overload fun(%b())"
    local object, colon, name, list = line:match "^function ([%w_]-)([.:]?)([%w_]+)(%b())"
    if overload then most = math.max(most, count_of(overload, "[%w_]+%??:")) end
    if name and count_of(list, "[%w_]+") and list ~= "(x)" then
      rows[#rows + 1] = count_row(object, name,
        math.max(most, count_of(list, "[%w_]+") + (colon == ":" and 1 or 0)), colon == ":")
    end
    if line:find "^function" then most = 0 end
  end
  for object, name, original in text:gmatch "\n(%u%w*)%.([%w_]+) = ([%w_]+)%f[\n]" do
    if name == original then rows[#rows + 1] = count_row(object, name, -1, true) end
  end
end

local function main(out_path, ...)
  local arrays, rows, places, pages, annotations, commands = {}, {}, {}, {}, {}, {}
  local counts, meta = {}, {}
  -- `text_len`: of the text that deflate has made these bytes of, else nil.
  local function add(name, text, text_len)
    local id = name:gsub("%W", "_")
    arrays[#arrays + 1] = array("source_" .. id, text)
    rows[#rows + 1] = ('  {"cuttle.%s", (const char *)source_%s, %d, %d},'):format(name, id, #text,
      text_len or 0)
  end
  local paths = {}
  for _, path in ipairs { ... } do
    table.insert(path:find("%.md$") and pages or paths, path)
    if path:find("/meta/") then annotations[#annotations + 1] = path end
  end
  for _, path in ipairs(paths) do
    local name, text = module_name(path), read_file(path)
    assert(not places[name],
      ("%s and %s are both the module cuttle.%s"):format(path, places[name], name))
    places[name] = path
    if path:find("/meta/") then meta[#meta + 1] = text end
    -- What a host adds, as `report` of the playground, is no command of the program.
    if path:find "^stdlib/.*/command_" then commands[#commands + 1] = help_rows(path) end
    if path:find("%.tune$") then text = without_repeats(text) end
    local is_packed = written_only[path:match "[^.]+$"]
    assert(not text:find("[\128-\255]"), path .. ": only ASCII is embedded")
    if is_packed then
      text = as_packed(text)
    elseif not path:find("%.lua$") then
      text = as_chunk(text)
    end
    check_syntax(path, text)
    local is_code = path:find("%.lua$") and not name:find("^meta%.")
    if is_code then
      text = shortened(text)
    elseif not is_packed and path:find("%.lua$") then -- checked before it becomes bytes
      text = as_packed(text)
    end
    local packs = is_code and #text >= PACKED_FROM
    add(name, packs and deflate(text) or text, packs and #text)
  end
  add_counts(counts, table.concat(meta))
  add("foreign_rows", as_packed(foreign_rows(pages, annotations)))
  rows[#rows + 1] = "  {NULL, NULL, 0, 0},"
  table.sort(commands)
  local out = assert(io.open(out_path, "wb"))
  out:write("/* Made by scripts/embed.lua from stdlib/: do not edit. */\n",
    '#include "interp/host/std_modules.h"\n\n',
    table.concat(arrays, "\n\n"), #arrays > 0 and "\n\n" or "",
    "const StdModule std_modules[] = {\n", table.concat(rows, "\n"), "\n};\n",
    "const StdCount std_counts[] = {\n", table.concat(counts, "\n"), "\n  {NULL, NULL, 0, 0}};\n",
    ("const char std_command_rows[] = %s;\n"):format(
      ("%q"):format(table.concat(commands)):gsub("\\\n", "\\n")))
  assert(out:close())
end

main(...)
