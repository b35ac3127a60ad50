-- writer.lua: the two texts of a random kernel while it is written, and what is in sight.
local expressions = ...
local M = { lua = {}, c = {}, scope = nil, depth = 0 }
local n_names = 0

function M.begin(scope)
  M.lua, M.c, M.scope, M.depth, n_names = {}, {}, scope, 0, 0
  expressions.scope = scope
end

-- Appends to both texts, or the same to both; $name is values.name.
function M.put(lua, c, values)
  c = c or lua
  if values then lua, c = lua:gsub("%$(%w+)", values), c:gsub("%$(%w+)", values) end
  M.lua[#M.lua + 1], M.c[#M.c + 1] = lua, c
end

function M.put_c(c, values) M.put("", c, values) end

function M.fresh(prefix)
  n_names = n_names + 1
  return prefix .. n_names
end

-- Calls f(...) with some fields of the scope replaced.
function M.with(fields, f, ...)
  local before = M.scope
  M.scope = setmetatable(fields, { __index = before })
  expressions.scope = M.scope
  f(...)
  M.scope, expressions.scope = before, before
end

-- The list and v, twice: it is near, so it is used more often.
function M.extended(list, v)
  local copy = { table.unpack(list) }
  copy[#copy + 1], copy[#copy + 2] = v, v
  return copy
end

-- Calls one of the kinds n times.
function M.repeatedly(n, choose)
  M.depth = M.depth + 1
  for _ = 1, n do choose()() end
  M.depth = M.depth - 1
end

return M
