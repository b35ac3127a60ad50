-- Atoms, tiled MMAs and tiled copies may be made in loops and under run-time conditions.
local k = kernel("k", function(x, n)
  for i in range(n) do
    local mma = tiled_mma("UniversalFMA<f32>", {4, 8})
    if x[0] > 1.0 then
      local c = tiled_copy(atom("UniversalCopy<u32>", f32), layout{32}, layout{1})
      x[threadIdx.x] = cast(c:size() + mma.threads, f32)
    end
  end
end)
local x = ones(f32, 32) fill(x, 2.0)
k{grid = 1, block = 32}(x, 3)
print(x[3])  -- expect: 64.0

-- A script's own table does not change under such a condition.
local outer = {}
local function refused(f)
  local k = kernel("refused", function(y) if y[0] > 1.0 then f() end end)
  local ok, message = pcall(k{grid = 1, block = 32}, x)
  return not ok and tostring(message):find("table expected", 1, true) ~= nil,
    not ok and tostring(message):find("changed.*under a run%-time condition") ~= nil
end
print(refused(function() setmetatable(outer, {}) end))              -- expect: false	true
print(refused(function() pcall(setmetatable, outer, {}) end))       -- expect: false	true
print(getmetatable(outer))                                          -- expect: nil
print(refused(function() setmetatable(3, {}) end))                  -- expect: true	false
