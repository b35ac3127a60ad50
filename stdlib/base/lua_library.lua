-- lua_library.lua: Lua's own library as it was before a script ran. Reports use it, and a script
-- may have changed it. A sandbox has only some of its tables, and no `debug`.
--   M.restore()   gives its tables, files, and the values of each type what they had
local M = {}

local get <const> = debug and debug.getmetatable or getmetatable
local set <const> = debug and debug.setmetatable or setmetatable
local raw_set <const>, each <const> = rawset, pairs

local tables <const>, metatables <const> = {}, {}

local function keep(t)
  if not t then return end
  local fields = {}
  for name, value in each(t) do fields[name] = value end
  tables[#tables + 1] = { table = t, fields = fields, meta = get(t) }
end

keep(io)
keep(os)
keep(debug)
for _, t in each { string, table, math, utf8, coroutine, get "" } do keep(t) end
local of_files <const> = io and io.stdout and get(io.stdout)
keep(of_files)
keep(of_files and of_files.__index)
for _, value in each(debug and { "", 0, true, print, coroutine.create(print) } or {}) do
  metatables[value] = get(value) or false
end
local of_nil <const> = get(nil)

function M.restore()
  for i = 1, #tables do
    local t = tables[i]
    for name, value in each(t.fields) do raw_set(t.table, name, value) end
    if debug then set(t.table, t.meta) end
  end
  for value, meta in each(metatables) do set(value, meta or nil) end
  if debug then set(nil, of_nil) end
end

return M
