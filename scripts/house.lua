-- house.lua: what the checks of the house share: the rooms of rooms.lua by path, what a room may
-- know, and reading of C sources as words.
local rooms = require "scripts.rooms"

local house = { rooms = rooms }

function house.capture_lines(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  assert(pipe:close(), command)
  return lines
end

function house.exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

-- "runtime/ir/ir_fold.c" -> the row of its room, "runtime"; nil, and the folder, when no row fits
function house.room_of(path)
  local folder, stem = path:match("^(%w+)/([%w_/]+)%.%w+$")
  for _, row in ipairs(rooms[folder] or {}) do
    for _, pattern in ipairs(row.files) do
      if stem:find("^" .. pattern .. "$") then
        return row, folder
      end
    end
  end
  return nil, folder
end

-- "runtime/ir" for a path in that room
function house.full_name(path)
  local row, folder = house.room_of(path)
  return row and folder .. "/" .. row.name
end

local function find_row(folder, name)
  for _, row in ipairs(rooms[folder]) do
    if row.name == name then
      return row
    end
  end
  error(("rooms.lua: no room %s/%s"):format(folder, name))
end

-- Full names ("runtime/ir") of all that a room may know, itself among them.
function house.reach(folder, name, seen)
  local full = folder .. "/" .. name
  seen = seen or {}
  if seen[full] then
    return seen
  end
  seen[full] = true
  for _, used in ipairs(find_row(folder, name).uses) do
    local other_folder, other = used:match("^(%w+)/(.*)$")
    house.reach(other_folder or folder, other or used, seen)
  end
  return seen
end

-- For messages.
function house.may_use(row)
  return #row.uses > 0 and table.concat(row.uses, ", ") .. " and what these use" or "nothing"
end

-- The text of a C file without comments and texts.
function house.read_code(path)
  local file <close> = assert(io.open(path))
  return (file:read("a"):gsub("/%*.-%*/", " "):gsub("\\\n", " "):gsub('"[^"\n]*"', '""'))
end

-- Names of the functions that a header declares: the word before the first parenthesis of each
-- declaration outside of braces. Types and macros are none.
function house.declared(code)
  local names = {}
  code = code:gsub("\n%s*#[^\n]*", "\n"):gsub("%b{}", "{}")
  for declaration in code:gmatch("[^;{}]+;") do
    local name = declaration:match("[%a_][%w_]*[%s%*]+([%a_][%w_]*)%s*%(")
    if name and not declaration:find("typedef", 1, true) then
      names[#names + 1] = name
    end
  end
  return names
end

return house
