-- tests/limits.lua lists every MAX of the sources, and nothing else; the tests that it names are there.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local limits = dofile "tests/limits.lua"
local listed = {}

local function add(name)
  tap.ok(not listed[name], name .. " is listed once")
  listed[name] = true
end

local exists = shell.exists

for _, kind in ipairs { "refuses", "goes_on" } do
  for path, names in pairs(limits[kind]) do
    tap.ok(exists(path), path .. " is there")
    for _, name in ipairs(names) do add(name) end
  end
end
for _, kind in ipairs { "costs", "sizes" } do
  for _, name in ipairs(limits[kind]) do add(name) end
end

local found = {}
local pipe = assert(io.popen(
  "grep -roE '[A-Z_]*MAX[A-Z_]* +=( |$)' runtime interp --include='*.[ch]'"))
for line in pipe:lines() do
  local file, name = line:match("([^/:]+):([%u_]+) ")
  found[file .. " " .. name] = true
end
pipe:close()
for name in pairs(found) do
  tap.ok(listed[name], name .. " is in tests/limits.lua",
    "say there what is beyond it, and test that")
end
for name in pairs(listed) do
  tap.ok(found[name], name .. " of tests/limits.lua is in the sources")
end
tap.done()
