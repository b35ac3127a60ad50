-- writer.lua: the text of a random kernel while it is written, and what is in sight.
local random = math.random
local M = { scope = nil, depth = 0 }
local buffer, n_names = {}, 0

function M.begin(scope) buffer, n_names, M.depth, M.scope = {}, 0, 0, scope end

function M.text() return table.concat(buffer, " ") end

function M.put(...)
  for _, s in ipairs { ... } do
    buffer[#buffer + 1] = s
  end
end

function M.new_name(prefix)
  n_names = n_names + 1
  return prefix .. n_names
end

-- A scope around which all is as it was, except for these fields.
function M.inner(fields) return setmetatable(fields, { __index = M.scope }) end

-- From here on `value` is the first of the list in sight that has this name.
function M.see(list, value) M.scope = M.inner { [list] = { value, table.unpack(M.scope[list]) } } end

function M.pick(list) return list[random(#list)] end
function M.chance(percent) return random(100) <= percent end
function M.int() return M.pick { "a", "b", "c", "d", "e" } end
function M.float() return M.pick { "u", "v", "w" } end
function M.bool() return M.pick { "p", "q" } end

return M
