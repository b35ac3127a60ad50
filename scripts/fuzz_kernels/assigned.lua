-- assigned.lua: does a kernel's IR store each variable on every path before it reads it? Threads that read
-- a variable without a value often find the right one there by chance, so that the answers do not tell. What `and` and
-- `or` choose may be stored under two conditions of which one always holds, so it is left out.

local function copy(t)
  local r = {}
  for k in pairs(t) do r[k] = true end
  return r
end

-- What holds at both ends; nil is one that no thread reaches.
local function both(a, b)
  if not a or not b then return a or b end
  local r = {}
  for k in pairs(a) do r[k] = b[k] end
  return r
end

-- The first read of a variable that may have no value, or nil.
local function unassigned(ir)
  local next_line, wrong = ir:gmatch "[^\n]+", nil
  local left = {} -- operation -> what holds where threads leave it
  local region

  local function statement(line, at)
    local set, get, target = line:match "^%s*set (%%%d+)", line:match "= get (%%%d+)", line:match "^%s*break (%%%d+)"
    if not at then return at end
    if get and not at[get] and not line:find "'chosen'" then wrong = wrong or line end
    if set then at[set] = true end
    if target then left[target] = both(left[target], at) end
    return not target and at or nil
  end

  -- After an operation with regions: its first line is `line`, and `at` holds before it.
  local function operation(line, at)
    local name = line:match "^%s*(%%%d+)"
    local is_loop, is_for, is_if = line:find " loop ", line:find " for ", line:find " if "
    local after, closed = region(at and copy(at))
    if is_if then
      local otherwise = at
      if closed:find "else" then otherwise = region(at and copy(at)) end
      after = both(after, otherwise)
    elseif is_loop or is_for then
      after = is_for and at or nil
    end
    return both(after, left[name])
  end

  function region(at)
    for line in next_line do
      if line:find "^%s*}" then return at, line end
      if line:find "{$" then
        at = operation(line, at)
      else
        at = statement(line, at)
      end
    end
    return at, ""
  end

  region {}
  return wrong
end

return { unassigned = unassigned }
