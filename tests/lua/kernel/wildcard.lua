-- '_' as a name of what nobody reads is harmless where the wildcard is not meant.
local x = zeros(f32, {2, 2})
kernel("counts", function(t)
  local n = 0
  for _ = 1, 3 do n = n + 1 end
  for _, v in ipairs{1, 2} do n = n + v end
  for i = 0, 1 do fill(t(_, i), n) end
  local _, last = n, 4
  t[{1, 1}] = last
end){grid = 1, block = 1}(x)
print(x[{0, 0}], x[{1, 1}]) -- expect: 6.0	4.0
