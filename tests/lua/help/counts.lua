-- A function of the language refuses one argument more than its annotation names, before it looks at
-- any other.
local tap = dofile "tests/support/tap.lua"

local objects <const> = { Tensor = zeros(f32, 4), Layout = L"4:1", Swizzle = swizzle(1, 2, 3),
                          Stream = stream(), Event = event() }

-- A call of `text`, "name" or "Class:name", with n arguments that are nil and one that is not.
local function call(text, n)
  local class, method = text:match "^(%u%w*):(.*)$"
  local object = objects[class]
  local f = class and object and object[method] or not class and _G[text]
  if not f then return nil end
  if object then return pcall(f, object, table.unpack({}, 1, n), 1) end
  local args = { [n + 1] = 1 }
  return pcall(f, table.unpack(args, 1, n + 1))
end

-- Functions of one number ignore others. Of these a call that is right so far is needed, or further
-- modes are a path.
local others <const> = {}
for name in ([[help import L shape stride size cosize rank depth get_mode group_modes take layout
    row_major col_major composition capture st_async atomic_add atomic_min atomic_max atomic_and
    atomic_or atomic_xor atomic_exch atomic_cas atomic_load atomic_store]]):gmatch "%S+" do
  others[name] = true
end
local n_counted, wrong = 0, {}
local files <close> = assert(io.popen "cat stdlib/meta/*.lua")
local has_overload = false
for line in files:lines() do
  local name, list = line:match "^function ([%w_:]+)(%b())"
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
tap.ok(n_counted > 200, "most functions are called", n_counted)
tap.ok(#wrong == 0, "each refuses an argument too many", table.concat(wrong, "\n"))
tap.plan()
