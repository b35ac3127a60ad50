-- gen_docs.lua: writes the reference from the annotations in stdlib/meta.
--   cuttle scripts/gen_docs.lua build/docs/docs/reference.md
-- Run as a function without a path it returns the text; tests/lua/help/reference.lua looks at it.
local annotations = require "cuttle.annotations"

local path = ...
local topics = annotations.load()
local out = {}

local function add(format, ...)
  out[#out + 1] = select("#", ...) > 0 and format:format(...) or format
end

-- Outside code, angle brackets would be tags.
local function plain(text)
  return (text:gsub("[<>]", { ["<"] = "&lt;", [">"] = "&gt;" }))
end

-- Escapes text, but not the code in it, which stands in backquotes.
local function prose(text)
  return (text:gsub("([^`]*)(`?[^`]*`?)", function(words, code) return plain(words) .. code end))
end

-- {====== Contents ======

local n_anchors = {}

-- The anchor that Markdown's readers give to the next heading of the page: equal ones get numbers.
local function next_anchor(heading)
  local anchor = heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")
  local n = n_anchors[anchor] or 0
  n_anchors[anchor] = n + 1
  return n > 0 and ("%s-%d"):format(anchor, n) or anchor
end

local function heading_of_topic(topic)
  return ("%s: %s"):format(topic.word:gsub("^%l", string.upper), topic.title)
end

-- "[size](#sizex-mode) · [cosize](#cosizex-mode) ..."
local function contents_of_topic(topic)
  local links = {}
  for _, entry in ipairs(topic.entries) do
    links[#links + 1] = ("[%s](#%s)"):format(entry.name, next_anchor(entry.signature))
  end
  return table.concat(links, " ·\n")
end

-- The topics as links, and by topic its names as links. Anchors are made in the order of the page's
-- headings, as the number of an anchor depends on the equal ones before it.
local function contents()
  local links, names = {}, {}
  next_anchor "Reference"
  for i, topic in ipairs(topics) do
    links[i] = ("[%s](#%s)"):format(topic.word, next_anchor(heading_of_topic(topic)))
    names[topic] = contents_of_topic(topic)
  end
  return "Contents: " .. table.concat(links, " · "), names
end

-- {====== Entries ======

local function add_part(name, type, text)
  add("- %s `%s`%s", name, type, text ~= "" and ": " .. prose(text) or "")
end

local function add_entry(entry)
  add("### `%s`\n", entry.signature)
  add(prose(table.concat(entry.text, "\n")) .. "\n")
  for _, field in ipairs(entry.fields) do
    add_part("`." .. field.name:gsub("%?", "") .. "`", field.type, field.text)
  end
  for _, param in ipairs(entry.params) do
    local name, is_optional = param.name:gsub("%?$", "")
    local shown = ("`%s`%s"):format(name, is_optional > 0 and " (optional)" or "")
    add_part(shown, param.type, param.text)
  end
  for _, result in ipairs(entry.returns) do
    add_part("returns", result.type, result.text)
  end
  if #entry.methods > 0 then
    add("- methods: %s", table.concat(entry.methods, ", "))
  end
  if out[#out]:find("^%- ") then add("") end
  if #entry.examples > 0 then
    add("```\n%s\n```\n", table.concat(entry.examples, "\n"))
  end
  if #entry.footer > 0 then
    add(prose(table.concat(entry.footer, "\n")) .. "\n")
  end
end

add [[
# Reference

This page has every name of the language. `make docs` makes it from the annotations in
`stdlib/meta`, which `help` prints and editors read. A function that takes a layout also takes its
text, and every function of layouts is a method too. Everything counts from 0; extents and strides
are in elements.
]]
local page_contents, names_of = contents()
add("%s\n", page_contents)
for _, topic in ipairs(topics) do
  add("## %s\n", heading_of_topic(topic))
  add("%s\n", names_of[topic])
  for _, entry in ipairs(topic.entries) do
    add_entry(entry)
  end
end
local text = table.concat(out, "\n")

if path then
  local file = assert(io.open(path, "w"))
  file:write(text)
  assert(file:close())
end
return text
