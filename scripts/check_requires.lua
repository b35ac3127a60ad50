-- check_requires.lua: holds the rooms of stdlib/ against its modules. A module knows what it calls
-- by `require`, at once or later: each text "cuttle.name" in it. Fails, with file, line and rule,
-- where one points to a room that the module's own may not know, or where modules reach each other.
--   lua scripts/check_requires.lua        from the root of the repository
-- rooms.lua has the table.
package.path = "./?.lua;" .. package.path

local house = require "scripts.house"

-- Files that make a name of parts, whose first part selects no module: these are texts, no code.
local of_texts <const> = {
  ["stdlib/pictures/page_file.lua"] = "parts of pages",
  ["stdlib/operators/operator_table.lua"] = "tables of results",
}
-- By embed.lua, and by the program (interp/shell/process.h).
local MADE <const> = { ["cuttle.foreign_rows"] = true, ["cuttle.process"] = true }

local findings = 0

local function blame(file, line, format, ...)
  findings = findings + 1
  io.stderr:write(("%s:%d: require: %s\n"):format(file, line, format:format(...)))
end

-- "stdlib/pictures/show.lua" -> "cuttle.show"; "stdlib/pictures/page.css" -> "cuttle.page.css"
local function module_of(path)
  local name = path:match "[^/]+$":gsub("%.lua$", "")
  return (path:find "/meta/" and "cuttle.meta." or "cuttle.") .. name
end

local files = house.capture_lines("find stdlib -type f | LC_ALL=C sort")
local path_of = {}
for _, path in ipairs(files) do path_of[module_of(path)] = path end

-- The files of a module's name, or of all names that begin so.
local function targets(name, is_prefix)
  local list = {}
  for other, path in pairs(path_of) do
    if other == name or is_prefix and other:sub(1, #name) == name then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

local function check_room(file, line, target)
  local row, folder = house.room_of(file)
  local used = house.room_of(target)
  if row and used and not house.reach(folder, row.name)["stdlib/" .. used.name] then
    blame(file, line, "'%s' is above or beside: stdlib/%s may use %s", target, row.name,
      house.may_use(row))
  end
end

local knows = {} -- [file] = {[file] = true}

local function check_name(file, line, name, is_prefix)
  if name == "cuttle." and is_prefix then
    if not of_texts[file] then
      blame(file, line, "a name that is made of parts; begin it so that it selects modules")
    end
    return
  end
  local list = targets(name, is_prefix)
  if #list == 0 and not MADE[name] then blame(file, line, "there is no module '%s'", name) end
  for _, target in ipairs(list) do
    check_room(file, line, target)
    knows[file][target] = target ~= file or nil
  end
end

-- internal.door.name: the room of the file may use that door.
local function check_door(file, line, door)
  local row = house.room_of(file)
  for _, name in ipairs(row.doors or {}) do
    if name == door then return end
  end
  blame(file, line, "internal.%s: modules of stdlib/%s may use %s", door, row.name,
    row.doors and "internal." .. table.concat(row.doors, ", internal.") or "the language alone")
end

local function check_file(file)
  knows[file] = {}
  if not house.room_of(file) then
    return blame(file, 1, "in no room; give it a row in scripts/rooms.lua")
  end
  local number = 0
  for text in io.lines(file) do
    number = number + 1
    local code = text:gsub("^%s*%-%-.*", "")
    for name, rest in code:gmatch '"(cuttle%.[%w_.]*)"%s*(%.?%.?)' do
      check_name(file, number, name, rest == "..")
    end
    for use in code:gmatch "%f[%w_]internal%f[^%w_](.?[%w_]*)" do
      if use ~= " " then check_door(file, number, use:match "^%.([%w_]+)" or "") end
    end
  end
end

-- {====== Circles ======

-- All files that the file knows, and what these know.
local function reached(file, seen)
  for other in pairs(knows[file] or {}) do
    if not seen[other] then
      seen[other] = true
      reached(other, seen)
    end
  end
  return seen
end

local function check_circles(modules)
  local blamed, all = {}, {}
  for _, file in ipairs(modules) do all[file] = reached(file, {}) end
  for _, file in ipairs(modules) do
    local circle = {}
    for other in pairs(all[file]) do
      if all[other] and all[other][file] then circle[#circle + 1] = other end
    end
    if #circle > 0 and not blamed[file] then
      table.sort(circle)
      for _, other in ipairs(circle) do blamed[other] = true end
      blame(file, 1, "%d modules reach each other in a circle: %s", #circle,
        table.concat(circle, ", "))
    end
  end
end

local modules = {}
for _, file in ipairs(files) do
  if file:find "%.lua$" and not file:find "/meta/" then modules[#modules + 1] = file end
end
for _, file in ipairs(modules) do check_file(file) end
check_circles(modules)
print(("check_requires: %d modules, %d findings"):format(#modules, findings))
os.exit(findings == 0)
