-- left_out.lua: TAP about the tests in C that do not run on a platform; skips.lua says why.
--   lua scripts/platforms/left_out.lua PLATFORM SOURCE...
local skip_reason = dofile(arg[0]:match("^.*/") .. "skips.lua")

local n = 0
for i = 2, #arg do
  local why = skip_reason(arg[1], (arg[i]:gsub("%.c$", "")))
  if why then
    n = n + 1
    print(("ok %d - %s # skip %s"):format(n, arg[i], why))
  end
end
print("1.." .. n .. (n == 0 and " # skip all tests in C run here" or ""))
