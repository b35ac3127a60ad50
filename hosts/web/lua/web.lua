-- web.lua: what a page asks for beside commands and inputs: pages of values, help, summaries.
local annotations = require "cuttle.annotations"
local M = {}

-- {====== Pages ======

local function write(path, text) assert(write_file(path, text)) end

-- Values that write their page themselves: profiles and traces.
local function has_page(value)
  local meta = getmetatable(value)
  local index = type(meta) == "table" and rawget(meta, "__index")
  return type(index) == "table" and type(rawget(index, "html")) == "function"
    and (meta.__name == "Profile" or meta.__name == "Trace")
end

-- Writes the page of a value; `text` is the expression.
function M.picture(value, text, path)
  if type(value) == "string" and value:find "^<!DOCTYPE html>" then
    write(path, value)
  elseif has_page(value) then
    value:html(path)
  else
    write(path, require("cuttle.drawn").page(value, nil, text))
  end
end

local DRAWN_CELLS <const> = 1024 -- of a panel

-- Whether a value may be drawn; a text is drawn as a layout where one asks for it only.
local function may_be_drawn(value)
  local kind = type(value)
  return kind == "userdata" or kind == "table" and getmetatable(value) ~= nil
    or kind == "function" and require "cuttle.launch_picture".is_launch(value)
end

-- Writes the picture of a cell's value as SVG, if it has one.
function M.draw(value, path)
  if not may_be_drawn(value) then return end
  local options = type(value) ~= "function" and { max_cells = DRAWN_CELLS } or nil
  local ok, text = pcall(require("cuttle.drawn").svg, value, nil, options)
  if ok then write(path, text) end
end

-- {====== Names ======

function M.help(name)
  require("cuttle.help").help(name)
end

-- Summaries of names and, by their last part, of methods.
local function find_summaries()
  local found = {}
  local _, by_name = annotations.load()
  for name, entry in pairs(by_name) do
    local method = name:match "[.:]([%w_]+)$"
    if method and not by_name[method] then found[method] = entry.summary end
    found[name] = entry.summary
  end
  return found
end

local summaries

-- Prints a line for each of the names, which come a line each: what it is, or nothing.
function M.summaries(names)
  summaries = summaries or find_summaries()
  for name in names:gmatch "[^\n]+" do print(summaries[name] or "") end
end

return M
