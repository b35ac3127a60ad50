-- Blocks that a multiprocessor holds, against cuda_occupancy.h of CUDA 13.0, whose
-- cudaOccMaxActiveBlocksPerMultiprocessor was called with these numbers: {threads, registers, bytes}.
local devices = require "cuttle.profile_device"
local cases = {
  {256, 32, 0}, {256, 116, 8252}, {128, 255, 0}, {1024, 64, 0}, {96, 40, 1000}, {64, 24, 49152},
  {32, 16, 0}, {512, 128, 16384}, {256, 33, 33000}, {1024, 65, 0}, {192, 168, 20000},
}
local function blocks(sm)
  local out = {}
  for i, c in ipairs(cases) do out[i] = devices.occupancy(sm, c[1], c[2], c[3]).blocks end
  return table.concat(out, " ")
end
print(blocks(75))  -- expect: 4 2 2 1 10 1 16 1 1 0 2
print(blocks(80))  -- expect: 8 2 2 1 16 3 32 1 4 0 2
print(blocks(86))  -- expect: 6 2 2 1 16 2 16 1 3 0 2
print(blocks(89))  -- expect: 6 2 2 1 16 2 24 1 3 0 2
print(blocks(90))  -- expect: 8 2 2 1 16 4 32 1 6 0 2
print(blocks(100)) -- expect: 8 2 2 1 16 4 32 1 6 0 2

-- By hand: 116 registers are 3712 a warp, 3840 given; 16384 // 3840 = 4 warps a quarter, 16 in all, two
-- blocks of 8 warps.
local o = devices.occupancy(90, 256, 116, 8252)
print(o.blocks, o.warps, o.max_warps, o.fraction, table.concat(o.limited_by, ",")) -- expect: 2	16	64	0.25	registers
print(table.concat(devices.occupancy(90, 1024, 32, 0).limited_by, ","))        -- expect: threads,registers
print(devices.occupancy(90, 256, nil, 100 * 1024).limited_by[1])               -- expect: shared
