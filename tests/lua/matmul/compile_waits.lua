-- A kernel that changes sums while wgmma makes them: ptxas makes its products wait for each other,
-- and says so. scripts/matmul_configs.lua --check reads that for each configuration.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local function log_of(changes)
  local lines = tile_to_shape(gmma_layout(f16, "K", 128), {64, 64})
  local mma = tiled_mma("SM90_64x64x16_F32F16F16_SS", {1, 1, 1})
  local launch = kernel("products", function(C)
    local a, b = shared(f16, lines), shared(f16, lines)
    local thr = mma:get_slice(threadIdx.x)
    local sums = fragment(f32, mma:partition_shape_C{64, 64})
    clear(sums)
    for i in range(size(C, 0) - 60) do
      wgmma_fence()
      gemm(mma, thr:partition_A(a), thr:partition_B(b), sums)
      wgmma_commit()
      if changes then sums[0] = sums[0] + 1.0 end
      wgmma_wait(0)
    end
    wgmma_wait(0)
    copy(sums, thr:partition_C(C))
  end, {static_shapes = true}){grid = 1, block = 128}
  return internal.launch.compile_log(launch, zeros(f32, {64, 64}))
end
print(log_of(false):find "serialized" ~= nil, log_of(true):find "serialized" ~= nil)
]]
io.write((shell.cuttle("--sm=90a %s", script))) -- expect: false	true
