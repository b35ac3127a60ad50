-- lua_library.lua: Lua's own library, and the modules of ours, as they were before a script ran.
-- Reports use them, and a script may have changed them. A sandbox has only some of Lua's tables,
-- and no `debug`.
--   M.restore()     gives its tables, files, and the values of each type what they had, and
--                   modules their functions, texts and tables; numbers and flags are what they
--                   count and know
--   M.guard(text)   a script of this text is about to run; nil: the text is not known. If it could
--                   change modules, those that load while it runs find the others as they were.
local internal = ...
local M = {}

local get <const> = debug and debug.getmetatable or getmetatable
local set <const> = debug and debug.setmetatable or setmetatable
local raw_get <const>, raw_set <const>, each <const> = rawget, rawset, next
local type_of <const> = type

local tables <const>, metatables <const> = {}, {}

-- {====== Lua's library ======

local function keep(t)
  if not t then return end
  local fields = {}
  for name, value in each, t do fields[name] = value end
  tables[#tables + 1] = { table = t, fields = fields, meta = get(t) }
end

keep(io)
keep(os)
keep(debug)
for _, t in each, { string, table, math, utf8, coroutine, get "" } do keep(t) end
local of_files <const> = io and io.stdout and get(io.stdout)
keep(of_files)
keep(of_files and of_files.__index)
for _, value in each, debug and { "", 0, true, print, coroutine.create(print) } or {} do
  metatables[value] = get(value) or false
end
local of_nil <const> = get(nil)

-- {====== Modules ======

local DEPTH <const> = 4 -- of tables in a module
local is_kept <const> = { ["function"] = true, string = true, table = true }
local loaded <const> = package and package.loaded or {}
local seen <const> = { [_G] = true, [loaded] = true }

local function keep_all(t, depth)
  if type_of(t) ~= "table" or seen[t] or depth > DEPTH then return end
  seen[t] = true
  local fields, meta = {}, get(t)
  for name, value in each, t do
    if is_kept[type_of(value)] then fields[name] = value end
    keep_all(value, depth + 1)
  end
  tables[#tables + 1] = { table = t, fields = fields, meta = meta }
  keep_all(meta, depth + 1)
end

-- {====== Both ======

-- Gives the tables what they had. Returns what they have now, as {table, name, value}.
local function exchange()
  local changed = {}
  for i = 1, #tables do
    local t = tables[i]
    for name, value in each, t.fields do
      local now = raw_get(t.table, name)
      if now ~= value then
        changed[#changed + 1] = { t.table, name, now }
        raw_set(t.table, name, value)
      end
    end
    if debug and get(t.table) ~= t.meta then set(t.table, t.meta) end
  end
  return changed
end

-- A script reaches modules only by these words, as other globals have no names that it makes up.
local words <const> = { "require", "package", "import", "load", "dofile", "debug", "_G", "_ENV" }
local find <const> = string.find
local is_guarded = false
local changed_at <const> = {} -- by the name of a module that is loading

function M.guard(text)
  for i = 1, #words do
    if not text or find(text, words[i], 1, true) then is_guarded = true end
  end
end

for name, module in each, loaded do
  if type_of(name) == "string" and name:find "^cuttle%." then keep_all(module, 1) end
end

-- Before and after a module loads. What it takes from others it keeps, whatever happens to them
-- later.
internal.host.on_module(function(name, module)
  if module == nil then
    changed_at[name] = is_guarded and exchange() or nil
    return
  end
  local changed = changed_at[name] or {}
  for i = 1, #changed do raw_set(changed[i][1], changed[i][2], changed[i][3]) end
  changed_at[name] = nil
  keep_all(module, 1)
end)

function M.restore()
  exchange()
  for value, meta in each, metatables do set(value, meta or nil) end
  if debug then set(nil, of_nil) end
end

return M
