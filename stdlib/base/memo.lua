-- memo.lua: functions that make a value once for each description, such as a kernel.
local M = {}

local function text_of(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = tostring(words[i]) end
  return table.concat(words, " ")
end

--- make as a function that makes one value for all arguments that print alike.
function M.by_arguments(make)
  local made = {}
  return function(...)
    local key = text_of(...)
    if made[key] == nil then made[key] = make(...) end
    return made[key]
  end
end

-- The values of c's fields, from the i-th name on.
local function fields_of(c, names, i)
  if i <= #names then return c[names[i]], fields_of(c, names, i + 1) end
end

--- make(c, ...) as a function that makes one value for all c in which the fields of these names
--- print alike. `owner` names a field with a function or table of the script, or nil: what is made
--- for it is collected with it.
function M.by_fields(names, make, owner)
  local by_owner, without = setmetatable({}, { __mode = "k" }), {}
  return function(c, ...)
    local of = owner and c[owner]
    local made = of and by_owner[of] or not of and without or {}
    if of then by_owner[of] = made end
    local key = text_of(fields_of(c, names, 1))
    if made[key] == nil then made[key] = make(c, ...) end
    return made[key]
  end
end

return M
