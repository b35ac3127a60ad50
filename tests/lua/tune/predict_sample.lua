-- A sample of blocks, spread over the grid, stands for the whole grid.
device("cpu")
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
local counts_of = require "cuttle.predict_counts".of

local function counted(f, ...)
  local session <close> = internal.watch.profile_begin(0, ...)
  f()
  local program = session:finish()[1]
  return counts_of(program), program.ran
end

-- Blocks of column 0 do more, and there are 16 columns.
local uneven = kernel("uneven", function(x, y)
  local i = threadIdx.x + blockDim.x * (blockIdx.x + gridDim.x * blockIdx.y)
  local v = x[i]
  if blockIdx.x % 2 == 0 then
    for k in range(64) do v = v * 2.0 + k end
  end
  y[i] = v
end)
local x, y = ones(f32, 64 * 16 * 128), zeros(f32, 64 * 16 * 128)
local function launch() uneven{grid = {16, 128}, block = 64}(x, y) end

local all, n_all = counted(launch)
local some, n_some = counted(launch, 12, 1, true)
print(n_all, n_some) -- expect: 2048	12
print(some.load_bytes == all.load_bytes, some.tensors[1].read == all.tensors[1].read)
-- expect: true	true
print(math.abs(some.fma / all.fma - 1) < 0.25) -- expect: true
print(all.imbalance > 1.5, some.imbalance > 1.5) -- expect: true	true

-- Few blocks are two of the grid, one of them the first.
local function few() uneven{grid = {2, 3}, block = 64}(x, y) end
print(select(2, counted(few, 12, 1, true)), (counted(few)).blocks) -- expect: 2	6
