-- sorted.lua: pairs() by the names of the keys, so that a test's kernels come in one order each time
-- and their texts are the same in each run (tests/golden/compiled.txt).
return function(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local i = 0
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end
