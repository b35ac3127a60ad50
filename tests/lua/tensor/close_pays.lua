-- A script that closes its tensors makes the collector no work: as much new memory looks for no garbage. Tensors that
-- are only dropped do.
local n_cycles = 0
local function watch()
  setmetatable({}, { __gc = function()
    n_cycles = n_cycles + 1
    watch()
  end })
end
collectgarbage()
watch()
local function count(f)
  local before = n_cycles
  for _ = 1, 100 do f() end
  return n_cycles - before
end
local function new() return tensor(u8, 1 << 24) end
new():close()
print(count(function() new():close() end) < 5)          -- expect: true
print(count(function() local _ <close> = new() end) < 5) -- expect: true
print(count(function() new() end) > 10)                  -- expect: true
-- What a view still holds was not given back.
print(count(function()
  local t = new()
  local v = view(t, 4)
  t:close()
  return v
end) > 10)                                               -- expect: true
