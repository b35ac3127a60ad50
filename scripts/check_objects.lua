-- check_objects.lua: holds the rooms of rooms.lua against the symbols of the objects, which no
-- forgotten declaration deceives.
--   lua scripts/check_objects.lua [BUILD]        from the root of the repository, after `make all`
-- Fails, naming objects and symbols, if
--   - an object uses a symbol of a room that its own may not know;
--   - a circle of objects, which all reach each other, is larger than rooms.lua allows;
--   - a header declares a function that another room defines (public headers may).
package.path = "./?.lua;" .. package.path
local house = require "scripts.house"

local build = arg[1] or "build"
local findings = 0

local function blame(...)
  findings = findings + 1
  io.stderr:write("check_objects: ", string.format(...), "\n")
end

-- {====== The graph ======

-- "build/runtime/simt/run/simt_mma.base.o" -> "runtime/simt/run/simt_mma.c"
local function source_of(object)
  return object:sub(#build + 2):gsub("%.base%.o$", ".o"):gsub("%.o$", ".c")
end

-- defines[symbol] = source; uses[source][symbol] = true. Handlers of one instruction set stand
-- for all.
local function read_symbols()
  local defines, uses = {}, {}
  local objects = ("find %s/runtime %s/interp -name '*.o' ! -name '*.avx*'"):format(build, build)
  for _, line in ipairs(house.capture_lines("nm -A -g $(" .. objects .. ")")) do
    local object, kind, symbol = line:match("^(%S+%.o):%s*%x*%s+(%a) (%S+)$")
    local source = object and source_of(object)
    if source and house.exists(source) then -- the object of a file that moved may still be there
      uses[source] = uses[source] or {}
      if kind == "U" then
        uses[source][symbol] = true
      else
        defines[symbol] = source
      end
    end
  end
  return defines, uses
end

-- edges[source] = { [other source] = a symbol that it uses of it }
local function make_edges(defines, uses)
  local edges = {}
  for source, symbols in pairs(uses) do
    edges[source] = {}
    for symbol in pairs(symbols) do
      local other = defines[symbol]
      if other and other ~= source then
        local known = edges[source][other]
        edges[source][other] = (known and known < symbol) and known or symbol
      end
    end
  end
  return edges
end

local function sorted_keys(set)
  local keys = {}
  for key in pairs(set) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- Tarjan's algorithm: lists of sources each of which reaches each.
local function find_circles(edges)
  local number, low, on_stack, stack, n, circles = {}, {}, {}, {}, 0, {}
  local function visit(v)
    n = n + 1
    number[v], low[v] = n, n
    stack[#stack + 1] = v
    on_stack[v] = true
    for _, w in ipairs(sorted_keys(edges[v] or {})) do
      if not number[w] then
        visit(w)
        low[v] = math.min(low[v], low[w])
      elseif on_stack[w] then
        low[v] = math.min(low[v], number[w])
      end
    end
    if low[v] == number[v] then
      local circle = {}
      repeat
        local w = table.remove(stack)
        on_stack[w] = nil
        circle[#circle + 1] = w
      until w == v
      table.sort(circle)
      circles[#circles + 1] = circle
    end
  end
  for _, v in ipairs(sorted_keys(edges)) do
    if not number[v] then
      visit(v)
    end
  end
  return circles
end

-- {====== Rules ======

local function check_edges(edges)
  for _, source in ipairs(sorted_keys(edges)) do
    local row, folder = house.room_of(source)
    if not row then
      blame("%s is in no room; give it a row in scripts/rooms.lua", source)
    else
      local known = house.reach(folder, row.name)
      for _, other in ipairs(sorted_keys(edges[source])) do
        if not known[house.full_name(other) or ""] then
          blame("%s uses %s of %s: %s/%s may use %s", source, edges[source][other], other, folder,
            row.name, house.may_use(row))
        end
      end
    end
  end
end

local function check_circles(circles)
  local largest = {}
  for _, circle in ipairs(circles) do
    local row, folder = house.room_of(circle[1])
    local full = folder .. "/" .. row.name
    if #circle > (row.circle or 1) then
      blame("%d objects of %s reach each other in a circle; at most %d may: %s", #circle, full,
        row.circle or 1, table.concat(circle, " "))
    end
    largest[full] = math.max(largest[full] or 0, #circle)
  end
  return largest
end

-- interp/cuttle.h, and runtime/ct.h with all that it includes.
local function public_headers()
  local public = { ["interp/cuttle.h"] = true }
  local function add(path)
    if not public[path] then
      public[path] = true
      local file <close> = assert(io.open(path))
      for header in file:read("a"):gmatch('#include "([^"]+)"') do
        add(io.open(header) and header or path:match("^(.*/)") .. header)
      end
    end
  end
  add "runtime/ct.h"
  return public
end

local function declared_by(header, public)
  return public[header] and {} or house.declared(house.read_code(header))
end

local function check_headers(defines)
  local public = public_headers()
  local headers = house.capture_lines("find runtime interp -name '*.h' | LC_ALL=C sort")
  for _, header in ipairs(headers) do
    for _, name in ipairs(declared_by(header, public)) do
      local source = defines[name]
      if source and house.full_name(source) ~= house.full_name(header) then
        blame("%s declares %s, which %s defines: a function is declared in its own room", header,
          name, source)
      end
    end
  end
end

local defines, uses = read_symbols()
local edges = make_edges(defines, uses)
check_edges(edges)
local largest = check_circles(find_circles(edges))
check_headers(defines)
local sizes = {}
for _, full in ipairs(sorted_keys(largest)) do
  if largest[full] > 1 then
    sizes[#sizes + 1] = ("%s %d"):format(full, largest[full])
  end
end
print(("check_objects: %d objects, %d findings; circles: %s"):format(#sorted_keys(edges), findings,
  #sizes > 0 and table.concat(sizes, ", ") or "none"))
os.exit(findings == 0)
