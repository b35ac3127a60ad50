-- `scripts/bench/main.lua layout` performs each operation and prints a row of it.
package.path = "scripts/bench/?.lua;" .. package.path
local lines, old_print = {}, print
rawset(_G, "print", function(s) lines[#lines + 1] = s end)
require "layouts"(1, 1e-6)
rawset(_G, "print", old_print)
local rows = 0
for _, line in ipairs(lines) do
  local per_second, ns = line:match("^  %S.-%s%s+(%d+)%s+(%d+)  %S")
  if per_second then
    rows = rows + 1
    assert(tonumber(per_second) > 0 and tonumber(ns) >= 0, line)
  end
end
print(lines[1])        -- expect: layouts: the best of 1 batches of 0.001 ms of CPU time, from Lua
print(#lines, rows)    -- expect: 13	11
