-- function_sizes.lua: how long the functions of the product are, in lines from the head to the
-- closing brace or `end`.
--   lua scripts/function_sizes.lua [N]      from the root of the repository; the N longest, too
-- Fails if half of them have more than 10 lines, or two in a hundred more than 35, or if a file has
-- 600 lines.
package.path = "./?.lua;" .. package.path
local house = require "scripts.house"

local MEDIAN <const>, P98 <const>, FILE <const> = 10, 35, 600

-- Lists {size =, place =} of a C file: clang-format puts heads and closing braces of functions at
-- the beginning of a line, and nothing else that ends in `) {`.
local function add_c(list, path)
  local first, number = nil, 0
  for line in io.lines(path) do
    number = number + 1
    if line:find "^[%a_].*%)$" or line:find "^[%a_].*[(,]$" then
      first = first or number -- a head of several lines
    end
    if line:find "^[%a_].*%) {.*}$" then
      list[#list + 1] = { size = 1, place = path .. ":" .. number }
      first = nil
    elseif line:find "^[%a_].*%) {$" or first and line:find "^%s.*%) {$" then
      first = first or number
      list.open = first
    elseif line == "}" and list.open then
      list[#list + 1] = { size = number - list.open + 1, place = path .. ":" .. list.open }
      list.open, first = nil, nil
    elseif line:find ";$" then
      first = nil
    end
  end
end

-- Of a Lua file: a function ends at the `end` with its head's indentation.
local function add_lua(list, path)
  local open, number = {}, 0
  for line in io.lines(path) do
    number = number + 1
    local indent, rest = line:gsub('"[^"]*"', '""'):match "^(%s*)(.*)$"
    if open[indent] and rest:find "^end%f[^%w_]" then
      list[#list + 1] = { size = number - open[indent] + 1, place = path .. ":" .. open[indent] }
      open[indent] = nil
    end
    if rest:find "%f[%w_]function%f[^%w_]" and not rest:find "^%-%-" then
      if rest:find "%f[%w_]end%f[^%w_]" then
        list[#list + 1] = { size = 1, place = path .. ":" .. number }
      else
        open[indent] = number
      end
    end
  end
end

local function report(name, list, n_listed)
  table.sort(list, function(a, b) return a.size > b.size end)
  local function at(share)
    return list[math.max(1, math.ceil(#list * (1 - share)))].size
  end
  local text = "function_sizes: %s: %d functions, median %d, p90 %d, p98 %d, longest %d (%s)"
  print(text:format(name, #list, at(0.5), at(0.9), at(0.98), list[1].size,
    list[1].place))
  for i = 2, math.min(n_listed, #list) do
    print(("  %4d  %s"):format(list[i].size, list[i].place))
  end
  return at(0.5) <= MEDIAN and at(0.98) <= P98
end

local c, lua = {}, {}
for _, path in ipairs(house.capture_lines "find runtime interp -name '*.[ch]' | LC_ALL=C sort") do
  add_c(c, path)
end
for _, path in ipairs(house.capture_lines
  "find stdlib -name '*.lua' ! -path '*/meta/*' | LC_ALL=C sort") do
  add_lua(lua, path)
end
-- A file that long has more than one job. Are there none?
local function report_files()
  local long = {}
  for _, path in ipairs(house.capture_lines("find runtime interp hosts stdlib -type f "
    .. "| grep -E '\\.([ch]|lua)$' | LC_ALL=C sort")) do
    local n = 0
    for _ in io.lines(path) do n = n + 1 end
    if n >= FILE then long[#long + 1] = ("%s %d"):format(path, n) end
  end
  print(("function_sizes: %d files of %d lines or more%s%s"):format(#long, FILE,
    #long > 0 and "; split them: " or "", table.concat(long, ", ")))
  return #long == 0
end

local n_listed = tonumber(arg[1]) or 0
local files_ok = report_files()
local c_ok, lua_ok = report("C", c, n_listed), report("Lua", lua, n_listed)
os.exit(files_ok and c_ok and lua_ok)
