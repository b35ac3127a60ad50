-- The options of a launch: each door has all of them, with the same meaning.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local program = arg[-1]

-- {====== The list ======

local options = {}
for name, member, file in shell.read_file("interp/launch/launch_options.def")
    :gmatch '\nX%([%u_]+, ([%l_]+), ([%l_]+), "([^"]+)"%)' do
  options[#options + 1] = { name = name, member = member, file = file }
end
local names = {}
for i, o in ipairs(options) do names[i] = o.name end
tap.ok(#options >= 10, "the list of options is read")
local stay = {}
for _, o in ipairs(options) do if o.file ~= "kept" then stay[#stay + 1] = o.name end end
tap.ok(table.concat(stay, " ") == "stream check", "files keep all but two")

-- {====== Doors ======

-- The words of the list that the text of a door does not have.
local function missing(path, from, to, pattern, field)
  local text = assert(shell.read_file(path):match(from .. "(.-)" .. to), path)
  local lacks = {}
  for _, o in ipairs(options) do
    if not text:find(pattern:format(o[field])) then lacks[#lacks + 1] = o[field] end
  end
  return table.concat(lacks, " ")
end

for _, door in ipairs {
  { "C's cuttle_Launch", "interp/cuttle.h", "typedef struct cuttle_Launch {", "} cuttle_Launch;",
    "%%f[%%w_]%s[,;]", "member" },
  { "C++'s Launch", "interp/cuttle.hpp", "\nclass Launch {", "\n};", "%%f[%%w_]%s[,()]", "member" },
  { "Python's config", "hosts/python/src/launch.c", "\nstatic PyObject %*kernel_config", "\n}\n",
    '"%s"', "name" },
  { "its stub", "hosts/python/cuttle/_cuttle.pyi", "def config", "%-> Launch", "%%f[%%w_]%s: ",
    "name" },
  { "its docstring", "hosts/python/src/launch.c", '"config%(', "%)\\n", "%%f[%%w_]%s",
    "name" },
  { "the page of Kernel", "stdlib/meta/kernel.lua", "^", "%-%-%-@class Kernel", "`%s[` ]", "name" },
} do
  local what, path = table.unpack(door)
  local lacks = missing(path, table.unpack(door, 3))
  tap.ok(lacks == "", what .. " has them all", lacks)
end

local k = kernel("k", function(x) x[0] = 1 end)
local x = zeros(f32, 4)
local _, why = pcall(function() k{ grid = 1, block = 1, grids = 1 } end)
local said = table.concat(names, ", ", 1, #names - 1) .. " or " .. names[#names]
tap.ok(tostring(why):find(said, 1, true), "scripts have them, as the message says", why)
for name, wrong in pairs { pdl = 1, cooperative = "no", deterministic = 0, check = "nan",
                           print_order = "any", smem = -1, cluster = 0.5, stream = 1 } do
  local ok = pcall(function() k{ grid = 1, block = 1, [name] = wrong }(x) end)
  tap.ok(not ok, ("%s = %s is refused"):format(name, wrong))
end

-- {====== Files ======

local folder = shell.folder()
local file = folder .. "/launch.ctk"
local sum = kernel("sum", function(y)
  if threadIdx.x % 32 == 0 then printf("%d\n", threadIdx.x) end
  if threadIdx.x == 0 then atomic_add(y, 0, 0.5) end
end)
local y = zeros(f32, 1)

local function replayed(config)
  config.grid, config.block = 2, 32
  os.remove(file)
  capture(sum:prepare(config)(y), file, { data = true })
  return shell.run(("'%s' --device=cpu check %s 2>&1"):format(program, file))
end

tap.ok(not replayed{}:find "deterministic", "a launch that promises nothing")
tap.ok(replayed{ deterministic = true }:find("says deterministic = true", 1, true),
  "a captured launch keeps its promise")

local turns = kernel("turns", function()
  for i = 1, 2 do
    printf("%d of %d\n", i, threadIdx.x)
    sync_threads()
  end
end)
local function printed(config)
  config.grid, config.block = 1, 64
  os.remove(file)
  capture(turns:prepare(config)(), file)
  local out = shell.run(("'%s' --device=cpu replay %s"):format(program, file))
  return (out:match "[^\n]*\n" and select(2, out:gsub("1 of 0\n2 of 0", "")))
end
tap.ok(printed{} == 1, "a thread prints its lines one after the other")
tap.ok(printed{ print_order = "run" } == 0, "a captured launch prints in the order that it wants")

shell.run("rm -r " .. folder)
tap.plan()
