-- space.lua: the configurations that `tune` searches, as a list in a fixed order.
--   {bM = {64, 128}, stages = range(2, 5)}   all combinations: names in alphabetical order; the
--                                            last one changes fastest, by the order of its list
--   {{bM = 64}, {bM = 128}}                  these
--   function() ... end                       what it returns, one at each call, until nil
-- A candidate is {config =, text =}. Its text stands for it in the file of results.
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = {}

local MOST <const>, DEEPEST <const> = 100000, 100

local fail = require "cuttle.fail".of "tune"

-- {====== Texts ======

local text_of -- (value, inside, depth): the tables that the value stands in

local function names_of(t)
  local names = {}
  for name in pairs(t) do
    if math.type(name) ~= "integer" or name < 1 or name > #t then names[#names + 1] = name end
  end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  return names
end

local function text_of_table(t, inside, depth)
  local parts = {}
  if inside[t] then fail("a configuration contains itself") end
  if depth == DEEPEST then
    fail("a configuration has tables in tables, more than %d deep; write numbers, strings and "
      .. "lists of these", DEEPEST)
  end
  inside[t] = true
  for i, value in ipairs(t) do parts[i] = text_of(value, inside, depth + 1) end
  for _, name in ipairs(names_of(t)) do
    parts[#parts + 1] = tostring(name) .. "=" .. text_of(t[name], inside, depth + 1)
  end
  inside[t] = nil
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Strings that would read as something else stand in quotes.
local function text_of_string(s)
  local is_plain = s:find "^[^%c%s\"\\=,{}]+$" and not tonumber(s) and s ~= "true" and s ~= "false"
  if is_plain then return s end
  return '"' .. s:gsub('[%c"\\]', function(c) return ("\\%03d"):format(c:byte()) end) .. '"'
end

-- Objects of the language whose texts say all that they are.
local told <const> = { dtype = true, layout = true, swizzle = true, atom = true }

function text_of(value, inside, depth)
  local kind = type(value)
  if kind == "table" then return text_of_table(value, inside, depth) end
  if kind == "string" then return text_of_string(value) end
  if kind == "userdata" then kind = tiles.type_name(value) end
  if kind == "function" or kind == "thread" or type(value) == "userdata" and not told[kind] then
    fail("a configuration has a %s, which a file of results cannot store; use a number, a string, "
      .. "a boolean or a list of these, and choose the %s by it", kind, kind)
  end
  if math.type(value) == "float" then
    local text = ("%.14g"):format(value)
    return tonumber(text) == value and text or ("%.17g"):format(value)
  end
  return (tostring(value):gsub("[%c ]", "_"))
end

--- What stands for a configuration in messages and files: "bM=64 stages=2".
function M.text(config)
  local parts = lists.map(names_of(config), function(name)
    return tostring(name) .. "=" .. text_of(config[name], {}, 0)
  end)
  for i, value in ipairs(config) do parts[#parts + 1] = i .. "=" .. text_of(value, {}, 0) end
  return table.concat(parts, " ")
end

-- {====== Configurations ======

local function check_lists(space, names)
  for _, name in ipairs(names) do
    local list = space[name]
    if type(name) ~= "string" then
      fail("the space has a %s, %s, in place of a name; write {bM = {64, 128}}", type(name),
        tostring(name))
    end
    if type(list) ~= "table" then
      fail("'%s' of the space is %s; a list of its values was expected, as {%s = {64, 128}} or "
        .. "{%s = range(2, 5)}", tostring(name), tostring(list), tostring(name), tostring(name))
    end
    if #list == 0 then fail("'%s' of the space is an empty list, so there is no configuration",
      tostring(name)) end
  end
end

local function combinations(space)
  local names, configs = names_of(space), { {} }
  check_lists(space, names)
  for _, name in ipairs(names) do
    local more = {}
    if #configs * #space[name] > MOST then
      fail("the space has more than %d configurations", MOST)
    end
    for _, config in ipairs(configs) do
      for _, value in ipairs(space[name]) do
        more[#more + 1] = lists.with(config, { [name] = value })
      end
    end
    configs = more
  end
  return configs
end

local function of_iterator(next_one)
  local configs = {}
  for config in next_one do
    if type(config) ~= "table" then
      fail("the iterator of the space gives a %s; a configuration was expected, as {bM = 64}",
        type(config))
    end
    if #configs == MOST then
      fail("the iterator of the space gives more than %d configurations", MOST)
    end
    configs[#configs + 1] = config
  end
  return configs
end

local function of_list(list)
  local name = names_of(list)[1]
  if name ~= nil then
    fail("the space is a list of configurations and has '%s' as well; write either "
      .. "{{bM = 64}, {bM = 128}} or {bM = {64, 128}}", tostring(name))
  end
  for i, config in ipairs(list) do
    if type(config) ~= "table" then
      fail("entry %d of the space is a %s; a configuration was expected, as {bM = 64}", i,
        type(config))
    end
  end
  if #list > MOST then
    fail("the space is a list of %d configurations; at most %d were expected", #list, MOST)
  end
  return list
end

local function configs_of(space)
  if type(space) == "function" then return of_iterator(space) end
  if type(space) ~= "table" then
    fail("the space is a %s; a table of lists was expected, as {bM = {64, 128}}, a list of "
      .. "configurations or an iterator of them", type(space))
  end
  if type(space[1]) == "table" then return of_list(space) end
  if space[1] ~= nil then
    fail("entry 1 of the space is %s; a name and a list of values were expected, as "
      .. "{bM = {64, 128}}, or configurations, as {{bM = 64}, {bM = 128}}", tostring(space[1]))
  end
  if next(space) == nil then fail("the space is empty; write {bM = {64, 128}}") end
  return combinations(space)
end

--- The candidates of a space, each once.
function M.candidates(space)
  local list, known = {}, {}
  for _, config in ipairs(configs_of(space)) do
    local text = M.text(config)
    if not known[text] then
      known[text] = true
      list[#list + 1] = { config = config, text = text }
    end
  end
  if #list == 0 then fail("the space has no configuration") end
  return list
end

--- Those that the constraint allows for these arguments; nil: all of them.
function M.allowed(candidates, where, ...)
  if not where then return candidates end
  local list = {}
  for _, candidate in ipairs(candidates) do
    if where(candidate.config, ...) then list[#list + 1] = candidate end
  end
  if #list == 0 then
    fail(#candidates == 1 and "`where` does not allow the only configuration"
      or "`where` allows none of the %d configurations", #candidates)
  end
  return list
end

return M
