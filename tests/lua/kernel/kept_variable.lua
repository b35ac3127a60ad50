-- A function that a kernel made, with a variable of that kernel.
local kept = {}
kernel("first", function(x)
  local n = 0
  if x[0] > 0.0 then n = 1 end
  kept.count = function() return n end
end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(x)
  local function n() return kept.count() end
  x[0] = n()
end)
local ok, message = pcall(function() k{grid = 1, block = 32}(zeros(f32, 32)) end)
print(ok, (message:gsub("^[^:]*:%d+: ", "")))
-- expect: false	variable 'n' was made in kernel 'first' (tests/lua/kernel/kept_variable.lua:3) and is used in kernel 'second' (tests/lua/kernel/kept_variable.lua:8); it exists only while that kernel is traced
