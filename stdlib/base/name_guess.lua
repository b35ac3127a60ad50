-- name_guess.lua: what a name that does not exist may have meant: one of the language that is
-- written almost so, or what CuTe, PTX and MoYe call so.
local language = require "cuttle"
local annotations = require "cuttle.annotations"
local foreign = require "cuttle.foreign"
local near = require "cuttle.near"
local M = {}

-- The names nearest to one that does not exist, at most three, as "'a' or 'b'"; or nothing.
local function nearest(name)
  local _, by_name = annotations.load()
  local names = {}
  for other in pairs(by_name) do names[#names + 1] = other end
  return near.nearest(name, names)
end

-- The same as text for a message.
function M.suggestion(name)
  local names = nearest(name)
  return names and (", did you mean %s?"):format(names) or ""
end

-- {====== Names of CuTe, PTX and MoYe ======

-- The entries by what others call them: made when it is first asked for.
local by_theirs

local function index_theirs()
  local index = {}
  for _, topic in ipairs((annotations.load())) do
    for _, entry in ipairs(topic.entries) do
      for _, line in ipairs(entry.footer) do
        for _, name in ipairs(line:find("^CuTe:") and foreign.footer_names(line) or {}) do
          local found = index[name] or {}
          index[name] = found
          if found[#found] ~= entry then found[#found + 1] = entry end
        end
      end
    end
  end
  return index
end

-- The entries of what others call `name`, which are not to be changed.
function M.find_theirs(name)
  by_theirs = by_theirs or index_theirs()
  return by_theirs[name] or {}
end

-- "; local_tile is tile here", or "".
function M.guess_theirs(name)
  local names = {}
  for _, entry in ipairs(M.find_theirs(name)) do
    if entry.name ~= name then names[#names + 1] = entry.name end
  end
  return #names > 0 and #names <= 4 and
    ("; %s is %s here"):format(name, table.concat(names, " or ")) or ""
end

-- {====== Names of modules ======

-- How to get at a module, as rows, or at what modules have, as softmax; nil if no module is meant.
local function ways_of_modules(name)
  local ways = {}
  for _, topic in ipairs((annotations.load())) do
    for _, entry in ipairs(topic.module and topic.entries or {}) do
      local space, own = entry.name:match "^(%l[%w_]*)%.([%w_]+)$"
      local way = space and ('local %s = require "cuttle.%s"'):format(space, topic.module)
      if space == name then return "write " .. way end
      if own == name then ways[#ways + 1] = ("write %s, with %s"):format(entry.name, way) end
    end
  end
  return ways[1] and table.concat(ways, ", or ")
end

local MIN_GUESSED <const> = 4 -- letters: shorter names are variables rather than misspelt ones

-- What a global that is nil may have meant, as text behind Lua's message; "" when nothing is near.
function M.guess(name)
  local theirs = language[name] == nil and #name > 1 and M.guess_theirs(name) or ""
  if theirs ~= "" then return theirs end
  local ways = language[name] == nil and #name > 1 and ways_of_modules(name)
  if ways then return "; " .. ways end
  local names = language[name] == nil and #name >= MIN_GUESSED and nearest(name)
  return names and ("; did you mean %s?"):format(names) or ""
end

-- The same of a method: the types that have one of this name, such as ThrMMA of partition_C; what
-- CuTe or MoYe call so; that it is a function instead; or one that is written almost so.
function M.guess_method(name)
  local types, methods, is_known = {}, {}, {}
  for _, topic in ipairs((annotations.load())) do
    for _, entry in ipairs(topic.entries) do
      local type_name, method = entry.name:match("^(%u[%w_]*)[.:]([%w_]+)")
      if method == name then types[#types + 1] = type_name end
      method = method or entry.name -- functions of layouts and tensors are methods, too
      if not is_known[method] then
        is_known[method], methods[#methods + 1] = true, method
      end
    end
  end
  if #types > 0 then
    return #types <= 3 and ("; it is a method of %s"):format(table.concat(types, " and ")) or ""
  end
  if is_known[name] then return ("; it is a function: write %s(...)"):format(name) end
  local theirs = M.guess_theirs(name)
  local nearest_one = theirs == "" and #name >= MIN_GUESSED and near.nearest(name, methods)
  return nearest_one and ("; did you mean %s?"):format(nearest_one) or theirs
end

return M
