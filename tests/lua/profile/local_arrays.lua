-- A profile names local arrays with their bytes, and no fragment.
device("cpu")
local k = kernel("histogram", function(values, y)
  local h, kept = local_array(i32, 4), fragment(i32, 4)
  clear(h)
  for i in range(size(values)) do h[values[i]] = h[values[i]] + 1 end
  copy(h, kept)
  for i in range(4) do y[i] = kept[i] end
end)
local result = profile(k:prepare{grid = 1, block = 1}(from_table(i32, {0, 3, 3, 1}), zeros(i32, 4)))
for _, t in ipairs(result.kernels[1].locals) do
  print(t.name, t.line, t.elements * t.element_bytes) -- expect: h	4	16
end
local text = tostring(result):gsub("%s+", " ")
print(text:match("line 4, h: a local array of 16 bytes for each thread") ~= nil) -- expect: true
