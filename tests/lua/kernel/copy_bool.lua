-- Several bool in one load: each register has its own element, whatever its neighbours are.
for _, width in ipairs { 16, 32, 64, 128 } do
  local n = width // 8
  local by = tiled_copy(atom(("UniversalCopy<u%d>"):format(width), bool), layout { 32 },
    layout { n })
  local take = kernel("take_" .. width, function(X, Y)
    local from = by:get_slice(threadIdx.x):partition_S(tile(X, { 32 * n }, 0))
    local mine = fragment_like(from)
    copy(by, from, mine)
    for i in range(n) do Y[threadIdx.x * n + i] = cast(mine[i], i32) end
  end)
  local X, Y = zeros(bool, 32 * n), zeros(i32, 32 * n)
  for i = 0, 32 * n - 1 do X[i] = i * i % 7 < 3 end
  local launch = take { grid = 1, block = 32 }
  launch(X, Y)
  local wrong = 0
  for i = 0, 32 * n - 1 do wrong = wrong + ((Y[i] == 1) == X[i] and 0 or 1) end
  print(width, wrong, launch:source(X, Y):find(">> 8 & 255", 1, true) ~= nil)
end
-- expect: 16	0	true
-- expect: 32	0	true
-- expect: 64	0	true
-- expect: 128	0	true
