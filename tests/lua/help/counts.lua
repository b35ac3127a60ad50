-- A function of the language refuses one argument more than its annotation names, before it looks at
-- any other. An object of it refuses a name that it does not have.
local tap = dofile "tests/support/tap.lua"
local samples <const> = dofile "tests/support/samples.lua"

-- The function `text`, "name", "table.name", "module.name" or "Class:name", and the object.
local function named(text)
  local owner, colon, name = text:match "^([%w_]+)([.:])(.*)$"
  if not owner then return _G[text] end
  local object = colon == ":" and samples[owner] or nil
  if colon == ":" then return object and object[name], object end
  local has, module = pcall(require, "cuttle." .. owner)
  return (_G[owner] or has and module or {})[name]
end

-- A call of it with n arguments that are nil and one that is not.
local function call(text, n)
  local f, object = named(text)
  if type(f) ~= "function" then return nil end
  if object then return pcall(f, object, table.unpack({ [n + 1] = 1 }, 1, n + 1)) end
  return pcall(f, table.unpack({ [n + 1] = 1 }, 1, n + 1))
end

-- Functions of one number ignore others. Of these a call that is right so far is needed, or further
-- modes are a path.
local others <const> = {}
for name in ([[help import L shape stride size cosize rank depth get_mode layout
    row_major col_major composition capture st_async atomic_add atomic_min atomic_max atomic_and
    atomic_or atomic_xor atomic_exch atomic_cas atomic_load atomic_store]]):gmatch "%S+" do
  others[name] = true
end
-- These exist in kernels only.
for name in pairs(getmetatable(f16x2) and f16x2 or {}) do others["f16x2." .. name] = true end
local n_counted, wrong = 0, {}
local files <close> = assert(io.popen "cat stdlib/meta/*.lua")
local has_overload = false
for line in files:lines() do
  local name, list = line:match "^function ([%w_.:]+)(%b())"
  local is_counted = name and not has_overload and not others[name]
  if is_counted and list ~= "(x)" and not list:find "%.%.%." then
    local _, n = list:gsub("[%w_]+", "")
    local ok, message = call(name, n)
    if ok ~= nil then
      n_counted = n_counted + 1
      local is_refused = not ok and message:find "%d+ arguments?"
      if not is_refused then wrong[#wrong + 1] = ("%s%s: %s"):format(name, list, message) end
    end
  end
  if name or line:find "^%-%-%-@overload" then has_overload = not name end
end
tap.ok(n_counted > 280, "most functions are called", n_counted)
tap.ok(#wrong == 0, "each refuses an argument too many", table.concat(wrong, "\n"))

local silent = {}
for class, object in pairs(samples) do
  local ok = pcall(function() return object.no_such_name end)
  if ok and class ~= "Tuple" then silent[#silent + 1] = class end
end
tap.ok(#silent == 0, "and an object a name that it does not have", table.concat(silent, " "))
tap.ok(mesh{data = 2}.links == nil, "but not a field that it may have")

local close_methods <const> = dofile "tests/support/internal.lua".host.close_methods
tap.ok(not pcall(close_methods, "T", 7, {}), "fields of a type are a table or nil")
tap.ok(not pcall(close_methods, "T", nil, 7), "and its methods a table")
tap.plan()
