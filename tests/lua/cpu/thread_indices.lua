-- Thread indices in blocks of all shapes: a warp may begin within a row, and a row within a warp.
local record = kernel("record", function(seen, nx, ny)
  local at = threadIdx.x + nx * (threadIdx.y + ny * threadIdx.z)
  seen[{ at, 0 }], seen[{ at, 1 }], seen[{ at, 2 }] = threadIdx.x, threadIdx.y, threadIdx.z
end)

local function first_wrong(block)
  local nx, ny, nz = table.unpack(block)
  local seen = zeros(i32, { nx * ny * nz, 3 })
  record{ grid = 1, block = block }(seen, nx, ny)
  local rows = seen:totable()
  for z = 0, nz - 1 do
    for y = 0, ny - 1 do
      for x = 0, nx - 1 do
        local row = rows[x + nx * (y + ny * z) + 1]
        if row[1] ~= x or row[2] ~= y or row[3] ~= z then return x, y, z end
      end
    end
  end
end

local blocks = { { 1, 1, 1 }, { 31, 1, 1 }, { 1, 1, 64 }, { 1, 40, 2 }, { 3, 5, 7 }, { 33, 2, 3 },
  { 64, 16, 1 }, { 7, 1, 9 }, { 2, 2, 2 }, { 1, 33, 31 } }
for _, block in ipairs(blocks) do
  local x, y, z = first_wrong(block)
  if x then print(("%d,%d,%d of %d,%d,%d"):format(x, y, z, table.unpack(block))) end
end
print(#blocks, "blocks") -- expect: 10	blocks
