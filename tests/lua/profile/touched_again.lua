-- Sectors that launches of one session touch: each launch counts its own, whatever the ones before
-- it touched, of the same tensors or of larger ones.
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
device "cpu"

local k = kernel("shift", function(x, y, stride)
  local i = (blockIdx.x * blockDim.x + threadIdx.x) * stride
  if i + 1 < size(x) then y[i] = x[i] + x[i + 1] end
end)
local large, small = 40000, 960 -- more than a page of marks, 4096 sectors, and less

local function counts(launches)
  local session <close> = internal.watch.profile_begin(0)
  for _, launch in ipairs(launches) do
    local x, y = zeros(f32, launch.n), zeros(f32, launch.n)
    k{grid = cdiv(launch.n, 128 * launch.stride), block = 128}(x, y, launch.stride)
  end
  local programs, out = session:finish(), {}
  for _, t in ipairs(programs[1].tensors) do
    out[#out + 1] = ("%s %d %d %d %d"):format(t.name, t.read_once, t.written_once, t.read_by_block,
      t.written_by_block)
  end
  return table.concat(out, ", "), programs[1].launches
end

local dense, sparse = { n = large, stride = 1 }, { n = large, stride = 16 }
local little = { n = small, stride = 1 }
print(counts { dense })                  -- expect: x 5000 0 5312 0, y 0 5000 0 5000	1
print(counts { dense, dense, dense })    -- expect: x 15000 0 15936 0, y 0 15000 0 15000	3
print(counts { sparse })                 -- expect: x 2500 0 2500 0, y 0 2500 0 2500	1
print(counts { little })                 -- expect: x 120 0 127 0, y 0 120 0 120	1
print(counts { dense, sparse, little })  -- expect: x 7620 0 7939 0, y 0 7620 0 7620	3
