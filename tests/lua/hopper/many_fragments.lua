-- Products into many fragments at once: each fragment is held at its wait and its fence, and `check`
-- follows each until its wait.
local shell = dofile "tests/support/shell.lua"
local check = require "cuttle.check"

local path <const> = shell.file [[
local n, early = 40, ... == "early"
local mma = tiled_mma("SM90_64x8x16_F32BF16BF16_SS")
local k = kernel("products", function(C)
  local sA = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {64, 64}))
  local sB = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {8, 64}))
  local thr = mma:get_slice(threadIdx.x)
  local tA, tB = thr:partition_A(sA), thr:partition_B(sB)
  local sums = {}
  for i = 1, n do
    sums[i] = thr:partition_fragment_C(layout{64, 8})
    fill(sums[i], 0.0)
  end
  for j = threadIdx.x, size(sA) - 1, 128 do sA[j] = 1.0 end
  for j = threadIdx.x, size(sB) - 1, 128 do sB[j] = 1.0 end
  fence_proxy_async()
  sync_threads()
  wgmma_fence()
  for i = 1, n do gemm(mma, tA, tB, sums[i]) end
  wgmma_commit()
  if not early then wgmma_wait(0) end
  copy(sums[n], thr:partition_C(C(_, _, n - 1)))
  wgmma_wait(0)
  for i = 1, n - 1 do copy(sums[i], thr:partition_C(C(_, _, i - 1))) end
end, {static_shapes = true})
local C = zeros(f32, {64, 8, n})
k{grid = 1, block = 128}(C)
return C[{3, 5, n - 1}]
]]

local command = ("CUTTLE_DEVICE=cpu '%s' emit --sm=90a %s"):format(arg[-1], path)
local pipe <close> = assert(io.popen(command))
local held, at = { fence = 0, wait = 0 }, "fence"
for line in pipe:read("a"):match('extern "C".*'):gmatch("[^\n]+") do
  at = line:find("wgmma_commit", 1, true) and "wait" or at
  if line:find("wgmma_hold", 1, true) then held[at] = held[at] + 1 end
end
print(("held at the fence %d, at the wait %d"):format(held.fence, held.wait))
-- expect: held at the fence 40, at the wait 40

local function run(...)
  local script = assert(loadfile(path))
  local findings, _, ok, result = check.run(script, {}, ...)
  print(ok, result, #findings, findings[1] and findings[1].kind, findings[1] and findings[1].buffer)
end
run("on time") -- expect: true	64.0	0	nil	nil
run("early") -- expect: true	64.0	1	wgmma	fragment_40
os.remove(path)
