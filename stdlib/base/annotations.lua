-- annotations.lua: reads stdlib/meta/*.lua, the annotations that editors read, as a list of entries
-- for help and for the reference.
--
-- A file is a topic; its first comment is `-- Topic: word: what it is about`. A file that begins
-- with `---@meta cuttle.NAME` is of a module that scripts require. An entry is a block of `---`
-- lines and the declaration below it:
--   plain lines          what it does; the first line is the summary, a sentence
--   lines of 4 blanks    a session: `> input` and what the prompt answers
--   CuTe: ... MoYe: ...  what others call it;  See: names that belong to it
--   ---@param n T text   ---@return T # text   ---@field n T text
--   function name(...) end          a function;  function Class:name(...) end  a method
--   name = nil  Class = {}          a value; a type
--   ---@alias Name T                a type that is others by name
--   Class.name = name               a function that is a method, too
local M = {}

-- The topics in the order of help().
local files = { "layout", "algebra", "coordinates", "pictures", "search", "tune", "judge", "tensor",
  "kernel", "inline", "work", "products", "operators", "threads", "barriers", "tma", "clusters",
  "math", "bits", "halves", "fast", "random", "atoms", "copies", "mesh", "sharded", "launch",
  "repl", "rows", "selections", "packed", "experts", "optimizers" }

-- {====== Lines of an entry ======

local function new_entry(topic)
  return { topic = topic, text = {}, params = {}, returns = {}, fields = {}, examples = {},
           footer = {}, methods = {} }
end

-- "shape Shape extents" -> {name, type, text}
local function named_part(rest)
  local name, type, text = rest:match("^(%S+)%s+(%S+)%s*(.*)$")
  return { name = name, type = type, text = text }
end

local tags = {
  param = function(entry, rest) table.insert(entry.params, named_part(rest)) end,
  field = function(entry, rest) table.insert(entry.fields, named_part(rest)) end,
  ["return"] = function(entry, rest)
    local type, text = rest:match("^(%S+)%s*#?%s*(.*)$")
    table.insert(entry.returns, { type = type, text = text })
  end,
  alias = function(entry, rest)
    entry.name, entry.alias = rest:match("^(%S+)%s+(.*)$")
  end,
}

local function add_line(entry, line)
  local tag, rest = line:match("^@(%w+)%s+(.*)$")
  if tag then
    if tags[tag] then tags[tag](entry, rest) end
  elseif line:find("^    ") then
    table.insert(entry.examples, line:sub(5))
  elseif line:find("^CuTe:") or line:find("^MoYe:") or line:find("^See:") then
    table.insert(entry.footer, line)
  elseif line ~= "" or #entry.text > 0 then
    table.insert(entry.text, line)
  end
end

-- {====== Declarations ======

-- What a line of Lua declares: name, signature, and for `Class.name = name` the function it is.
local function declared(line)
  local signature = line:match("^function ([%w_.:]+%b()) end$")
  if signature then
    return signature:match("^[%w_.:]+"):gsub(":", "."), signature
  end
  local name, value = line:match("^([%w_.]+) = ([%w_.]+)$")
  if name then
    return name, name, value ~= "nil" and value or nil
  end
  name = line:match("^local ([%w_]+) = {}$") or line:match("^([%w_.]+) = {}$")
  return name, name
end

-- "shape(x, mode)" -> "shape(x[, mode])", as parameters with a `?` may be left out.
local function with_brackets(signature, params)
  local list, n_open = "", 0
  for i, param in ipairs(params) do
    local name, is_optional = param.name:gsub("%?$", "")
    param.is_optional, n_open = is_optional > 0, n_open + is_optional
    list = list .. (is_optional > 0 and "[" or "") .. (i > 1 and ", " or "") .. name
  end
  return (signature:gsub("%b()", function() return "(" .. list .. ("]"):rep(n_open) .. ")" end))
end

local function finish(entry, name, signature)
  while entry.text[#entry.text] == "" do
    entry.text[#entry.text] = nil
  end
  entry.name, entry.signature = name, with_brackets(signature, entry.params)
  entry.summary = entry.text[1] or ""
  return entry
end

-- {====== Files ======

local function read_topic(file)
  local text = require("cuttle.meta." .. file)
  local word, title = text:match("%-%- Topic: (%w+): ([^\n]*)")
  local path = ("stdlib/meta/%s.lua"):format(file)
  local topic = { file = path, word = word, title = title, entries = {},
                  module = text:match "^%-%-%-@meta cuttle%.([%w_]+)" }
  local entry = new_entry(topic)
  local aliases = {}
  for line in text:gmatch("([^\n]*)\n") do
    local comment = line:match("^%-%-%-%s?(.*)$")
    local name, signature, original = declared(line)
    if comment then
      add_line(entry, comment)
    elseif original then
      aliases[#aliases + 1] = { name = name, original = original }
    elseif name or entry.alias then
      table.insert(topic.entries, finish(entry, name or entry.name, signature or entry.name))
    end
    if not comment then
      entry = new_entry(topic)
    end
  end
  return topic, aliases
end

-- Methods that functions are, too: found by their own name, explained as the function.
local function add_aliases(list, by_name)
  for _, alias in ipairs(list) do
    local class, method = alias.name:match("^(%w+)%.([%w_]+)$")
    table.insert(by_name[class].methods, method)
    by_name[alias.name] = by_name[alias.original]
  end
end

local topics, by_name

-- The topics, each with its entries in order, and the entries by name: "size", "Layout",
-- "Layout.named", "reference.matmul".
function M.load()
  if topics then
    return topics, by_name
  end
  local list, names, aliases = {}, {}, {}
  for i, file in ipairs(files) do
    local topic, more = read_topic(file)
    list[i] = topic
    table.move(more, 1, #more, #aliases + 1, aliases)
    for _, entry in ipairs(topic.entries) do
      assert(not names[entry.name], entry.name)
      names[entry.name] = entry
    end
  end
  for _, topic in ipairs(list) do
    for _, entry in ipairs(topic.entries) do
      local class, method = entry.name:match("^(%u%w*)%.([%w_]+)$")
      if class then
        entry.class = class
        table.insert(names[class].methods, method)
      end
    end
  end
  add_aliases(aliases, names)
  topics, by_name = list, names
  return topics, by_name
end

return M
