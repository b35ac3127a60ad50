-- help_modules.lua: what help knows of modules of the library that a program has loaded: their
-- names with parameters, found by name, as in "rows.softmax", or by value.
local M = {}

-- f(module's name, its table) for each that is loaded, in the order of names.
local function each_module(f)
  local names = {}
  for name, value in pairs(package.loaded) do
    if type(name) == "string" and name:find "^cuttle%." and type(value) == "table" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do f(name:match "%.(.*)", package.loaded[name]) end
end

-- "(x, target, options)" of a function in Lua.
local function parameters_of(f)
  local info, names = debug.getinfo(f, "u"), {}
  for i = 1, info.nparams do names[i] = debug.getlocal(f, i) end
  if info.isvararg then names[#names + 1] = "..." end
  return ("(%s)"):format(table.concat(names, ", "))
end

local function entry_of(module, name, value)
  local shown = type(value) == "function" and parameters_of(value) or " = " .. tostring(value)
  return ("%s.%s%s"):format(module, name, shown)
end

local function loaded(module)
  local found
  each_module(function(name, values)
    if name == module then found = values end
  end)
  return found
end

--- A line on "rows.softmax" or "cuttle.rows.softmax", nil if no loaded module has the name.
function M.line_of_name(asked)
  local module, name = asked:gsub("^cuttle%.", ""):match "^([%w_]+)[.:]([%w_]+)$"
  local values = module and loaded(module)
  local value = values and rawget(values, name)
  return value and entry_of(module, name, value) or nil
end

--- The same of a value that a loaded module has, and its name, as "rows.softmax"; the module with
--- the shortest name says it.
function M.line_of_value(value)
  local best
  each_module(function(module, values)
    for name, other in pairs(values) do
      if rawequal(other, value) and (not best or #module < #best.module) then
        best = { module = module, name = name }
      end
    end
  end)
  if not best then return nil end
  return entry_of(best.module, best.name, value), best.module .. "." .. best.name
end

--- The names of a loaded module in order, nil: there is none of that name.
function M.names_of(asked)
  local values, names = loaded((asked:gsub("^cuttle%.", ""))), {}
  if not values then return nil end
  for name in pairs(values) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

return M
