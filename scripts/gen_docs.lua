-- gen_docs.lua: writes docs/reference.md from the annotations in stdlib/meta.
--   cuttle scripts/gen_docs.lua docs/reference.md
-- Run as a function without a path it returns the text; tests/lua/help/reference.lua compares it.
local annotations = require "cuttle.annotations"

local path = ...
local topics = annotations.load()
local out = {}

local function add(format, ...)
  out[#out + 1] = select("#", ...) > 0 and format:format(...) or format
end

-- `|` would end a cell, and angle brackets are tags, of what is no code.
local function plain(text)
  return (text:gsub("[<>]", { ["<"] = "&lt;", [">"] = "&gt;" }))
end

-- Text with its code, in backquotes, as it is.
local function prose(text)
  return (text:gsub("([^`]*)(`?[^`]*`?)", function(words, code) return plain(words) .. code end))
end

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

Every name of the language, made by `make docs` from the annotations in `stdlib/meta`, which `help`
prints and editors read. A name that takes a layout takes its text, too, and each function of
layouts is a method of them. Everything counts from 0; extents and strides are in elements.
]]
for _, topic in ipairs(topics) do
  add("## %s: %s\n", topic.word:gsub("^%l", string.upper), topic.title)
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
