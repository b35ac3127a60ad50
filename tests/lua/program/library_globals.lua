-- Modules of the library have globals of their own: what a script makes of its globals, or of the
-- table of the language's names, does not reach them, and they leave none behind.
local tap = dofile "tests/support/tap.lua"
local ct = require "cuttle"

local function names_of(t)
  local names = {}
  for name in pairs(t) do names[name] = true end
  return names
end

local before = names_of(_G)
for name in pairs(package.preload) do
  if name:find "^cuttle%." and not name:find "%.command_" and not name:find "%.meta%." then
    require(name)
  end
end
local new = {}
for name in pairs(_G) do
  if not before[name] then new[#new + 1] = tostring(name) end
end
tap.ok(#new == 0, "no module leaves a global behind", table.concat(new, ", "))

-- The environment of a function of a module, by its upvalue.
local function env_of(f)
  for i = 1, math.maxinteger do
    local name, value = debug.getupvalue(f, i)
    if name == nil then return nil end
    if name == "_ENV" then return value end
  end
end

local env = env_of(require "cuttle.tiles".sizes)
tap.ok(env ~= _G and env.size == ct.size and env.pairs == pairs, "modules share one environment")
tap.ok(cuda and ptx and env.cuda == nil and env.ptx == nil,
  "modules have no cuda and ptx that distrust them in a sandbox")
local ok, message = pcall(function() env.forgotten = 1 end)
tap.ok(not ok and message:find "a module of the library assigns the global 'forgotten'" ~= nil,
  "a new global of a module is an error", message)

-- A script that replaces what the library uses. What it needs itself it keeps.
local kept = { explain = explain, layout = layout, print = print, pcall = pcall, ok = tap.ok,
               concat = table.concat, done = tap.done, tostring = tostring }
local lines = {}
local names = { "size", "rank", "layout", "get_mode", "coalesce", "tile", "tostring", "type" }
for _, name in ipairs(names) do
  ct[name] = nil
  _G[name] = false -- luacheck: ignore 122
end
_G.print = function(text) lines[#lines + 1] = text end -- luacheck: ignore 122
local explained, why = kept.pcall(kept.explain, kept.layout "(4,8):(8,1)")
_G.print, _G.tostring = kept.print, kept.tostring -- luacheck: ignore 122
kept.ok(explained, "the library keeps its meanings of names", why)
kept.ok(kept.concat(lines):find("(4,8):(8,1)", 1, true) ~= nil, "it prints by the script's print")
kept.done()
