-- choose.lua: of tests, those that run on a platform; skips.lua says which do not.
--   lua scripts/platforms/choose.lua PLATFORM TEST...         the names of those that run
--   lua scripts/platforms/choose.lua --tap PLATFORM TEST...   TAP about those that do not
local skip_reasons = dofile(arg[0]:match("^.*/") .. "skips.lua")

local is_tap = arg[1] == "--tap"
local first = is_tap and 2 or 1
local n = 0
for i = first + 1, #arg do
  local why = skip_reasons(arg[first], arg[i])
  if is_tap and why then
    n = n + 1
    print(("ok %d - %s # skip %s"):format(n, arg[i], why))
  elseif not is_tap and not why then
    print(arg[i])
  end
end
if is_tap then
  print("1.." .. n .. (n == 0 and " # skip all tests in C run here" or ""))
end
