-- Tiles that hang over a guarded tensor: what lies outside is not written, by the parts of a tiled MMA
-- and of a tiled copy as by those of parallelize.
device "cpu"
local mma = tiled_mma("UniversalFMA<f32>", { 8, 8 })
local by_columns = tiled_copy(atom("UniversalCopy<u32>", f32), "(8,8)")

local function add_one(name, part_of)
  return kernel(name, function(C)
    local part = part_of(tile(guard(C), { 32, 32 }, { blockIdx.x, blockIdx.y }))
    local r = fragment_like(part)
    copy(part, r)
    for i = 0, size(r) - 1 do r[i] = r[i] + 1 end
    copy(r, part)
  end)
end

local kernels = {
  add_one("by_mma", function(t) return mma:get_slice(threadIdx.x):partition_C(t) end),
  add_one("by_copy", function(t) return by_columns:get_slice(threadIdx.x):partition_D(t) end),
}
local C = zeros(f32, { 40, 50 })
for i, k in ipairs(kernels) do
  k { grid = { 2, 2 }, block = 64 }(C)
  print(allclose(C, full(f32, { 40, 50 }, i)))
end
-- expect: true
-- expect: true

-- A permutation of many modes stays inside its tile: nothing overhangs that the tile does not.
local runs = tiled_mma("UniversalFMA<f32>", layout({ { 8, 1 }, { 4, 2 } }, { { 1, 0 }, { 8, 32 } }),
  { layout({ 8, 2, 2 }, { 2, 16, 1 }), layout({ 4, 2, 4 }, { 4, 16, 1 }) })
kernel("by_runs", function(C)
  local mine = tile(guard(C), { 32, 32 }, { blockIdx.x, blockIdx.y })
  clear(runs:get_slice(threadIdx.x):partition_C(mine))
end) { grid = { 2, 2 }, block = 64 }(C)
print(allclose(C, zeros(f32, { 40, 50 })))  -- expect: true
