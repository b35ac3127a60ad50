-- Sums of a product that begins anew, added to others on CUDA cores while the next product waits to
-- replace them: at its fence the text holds what was added, so that the compiler does not move that
-- after the product and copy all sums.
local shell = dofile "tests/support/shell.lua"
local path <const> = shell.file [[
local mma = tiled_mma("SM90_64x8x16_F32BF16BF16_SS")
kernel("promoted", function(C, scale)
  local sA = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {64, 64}))
  local sB = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {8, 64}))
  local thr = mma:get_slice(threadIdx.x)
  local part = thr:partition_fragment_C(layout{64, 8})
  local sums, others = thr:partition_fragment_C(layout{64, 8}), fragment(f32, 4)
  clear(sums)
  for wave = 1, 2 do
    wgmma_fence()
    gemm(mma, thr:partition_A(sA), thr:partition_B(sB), part, {accumulate = false})
    wgmma_commit()
    wgmma_wait(0)
    for i = 0, 3 do
      sums[i] = sums[i] + part[i] * scale
      others[i] = scale * i
    end
  end
  copy(sums, thr:partition_C(C))
  C[{0, threadIdx.x % 8}] = others[0]
end, {static_shapes = true}){grid = 1, block = 128}(zeros(f32, {64, 8}), 2.0)
]]
local command = ("CUTTLE_DEVICE=cpu '%s' emit --sm=90a %s"):format(arg[-1], path)
local pipe <close> = assert(io.popen(command))
for line in pipe:read("a"):match('extern "C".*'):gmatch("[^\n]+") do
  local what = line:match "^%s*(wgmma_%l+[<(][^;]*;)" or line:match "sums%[0%] = [^;]*;"
  if what and not what:find "descriptor" then print(what) end
end
-- expect: wgmma_fence();
-- expect: wgmma_commit();
-- expect: wgmma_wait<0>();
-- expect: wgmma_hold<4>(part);
-- expect: sums[0] = fmaf(part[0], scale, sums[0]);
-- expect: wgmma_hold<4>(sums);
-- expect: wgmma_fence();
-- expect: wgmma_commit();
-- expect: wgmma_wait<0>();
-- expect: wgmma_hold<4>(part);
-- expect: sums[0] = fmaf(part[0], scale, sums[0]);
os.remove(path)
