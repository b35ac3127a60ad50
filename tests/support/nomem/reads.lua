-- A kernel that reads globals, upvalues of helpers and tables, traced anew when they change.
-- luacheck: globals factor helper
factor = 2
local bias = 1
local settings = {scale = 3, list = {1, 2, {3}}}
function helper(v) return v * factor + bias end
local out = zeros(f32, 1)
local k = kernel("reads", function(x)
  local sum = helper(settings.scale) + #settings.list
  for _, v in ipairs(settings.list) do sum = sum + (tonumber(v) or v[1]) end
  x[0] = sum
end)
local function run(expected)
  k{grid = 1, block = 1}(out)
  assert(out[0] == expected, out[0])
end
run(16.0)
run(16.0)
factor = 3
run(19.0)
settings.list[3][1] = 13
run(29.0)
function helper(v) return v end
run(22.0)
factor = nil
