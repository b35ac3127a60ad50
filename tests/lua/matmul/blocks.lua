-- The option blocks: a kernel whose blocks stay for many tiles gets fewer of them, for the same
-- result; others keep their grid.
local prepare = require "cuttle.matmul".prepare
local A, B = randn(bf16, row_major{ 256, 64 }), randn(bf16, row_major{ 192, 64 })
local function grid_of(options)
  local launch, _, steps = prepare(A, B, zeros(bf16, row_major{ 256, 192 }), options)
  launch()
  return steps[1].launch.grid[1]
end
print(grid_of{ config = "hopper 64x64x64" })                  -- expect: 12
print(grid_of{ config = "hopper 64x64x64", blocks = 5 })      -- expect: 5
print(grid_of{ config = "hopper 64x64x64", blocks = 100 })    -- expect: 12
print(grid_of{ config = "cpu 32x32x8", blocks = 5 } > 5)      -- expect: true
local want = matmul(A, B, { config = "hopper 64x64x64" })
for _, n in ipairs{ 5, 1, 5 } do
  print(reference.difference(matmul(A, B, { config = "hopper 64x64x64", blocks = n }), want))
end
-- expect: nil
-- expect: nil
-- expect: nil
print((select(2, pcall(matmul, A, B, { blocks = 0 })):gsub("^.-: ", "")))
-- expect: matmul: blocks is 0; an integer from 1 on was expected
