-- block_order.lua: blocks of a grid with rows are taken in bands where a kernel reads again what
-- another block has read: each runs once, and of those that fail the lowest is reported.
device("cpu")
local mark = kernel("mark", function(src, out, n)
  local sum = 0
  for i = 0, n - 1 do sum = sum + src[{i}] end
  local at = {threadIdx.x, blockIdx.x, blockIdx.y, blockIdx.z}
  out[at] = out[at] + sum
end)

local src = ones(i32, {4})
for _, g in ipairs{{1, 1, 1}, {1, 9, 1}, {7, 1, 2}, {3, 8, 1}, {5, 19, 3}, {2, 7, 2}, {4, 64, 1}} do
  local out = zeros(i32, {2, g[1], g[2], g[3]})
  mark({grid = g, block = 2})(src, out, 4)
  local wrong = 0
  for i = 0, size(out) - 1 do wrong = wrong + (out(i) == 4 and 0 or 1) end
  assert(wrong == 0, ("%d x %d x %d blocks: %d elements are wrong"):format(g[1], g[2], g[3], wrong))
end

local overrun = kernel("overrun", function(src, out, first, n)
  local number = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x
  local sum = 0
  for i = 0, n - 1 do sum = sum + src[{i}] end
  out[{number >= first and number + 1000 or number}] = sum
end)
local out = zeros(i32, {7 * 19 * 2})
for _, first in ipairs{0, 6, 7, 55, 56, 60, 132, 133, 200, 265} do
  local x, y, z = first % 7, first // 7 % 19, first // 133
  for _ = 1, 5 do
    local ok, message = pcall(overrun{grid = {7, 19, 2}, block = 1}, src, out, first, 4)
    local place = ("by thread (0,0,0) of block (%d,%d,%d)"):format(x, y, z)
    assert(not ok and tostring(message):find(place, 1, true), message)
  end
end

print("done") -- expect: done
