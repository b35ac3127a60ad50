-- What products by wgmma are emitted as: the text compiles for sm_90a; older devices are refused.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local path <const> = shell.file [[
local mma = tiled_mma("SM90_64x64x16_F32BF16BF16_SS", {2, 1, 1})
local pv = tiled_mma("SM90_64x32x16_F32BF16BF16_RS", {2, 1, 1})
kernel("products", function(C, n)
  local sA = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 128), {128, 64, 4}))
  local sB = shared(bf16, tile_to_shape(gmma_layout(bf16, "MN", 64), {64, 64, 4}))
  local thr, second = mma:get_slice(threadIdx.x), pv:get_slice(threadIdx.x)
  local tA, tB = thr:partition_A(sA), thr:partition_B(sB)
  local rC = thr:partition_fragment_C(layout{128, 64})
  local rO = second:partition_fragment_C(layout{128, 32})
  local slot = 0
  for k in range(n) do
    wgmma_fence()
    gemm(mma, tA(_, _, _, slot), tB(_, _, _, slot), rC, {accumulate = k > 0})
    wgmma_commit()
    wgmma_wait(1)
    slot = where(slot == 3, 0, slot + 1)
  end
  wgmma_wait(0)
  local rP = second:retile_A(cast(rC, bf16), mma)
  wgmma_fence()
  gemm(pv, rP, second:partition_B(tile(sB(_, _, 0), {32, 64}, {1, 0})), rO)
  wgmma_commit()
  wgmma_wait(0)
  copy(rO, second:partition_C(C))
end, {static_shapes = true}){grid = 1, block = 256}(zeros(f32, {128, 32}), 1)
]]

local function emit(options) return (shell.cuttle("emit %s %s", options, path)) end

local text = emit("--sm=90a --compile")
if text:find("cannot load", 1, true) then
  os.remove(path)
  tap.skip_all "no NVRTC on this machine"
end
for line in text:match('extern "C".*'):gsub(",\n +", ", "):gmatch("[^\n]+") do
  if line:find("wgmma") or line:find("SM90") then
    print((line:gsub("%s*//.*", ""):gsub("^%s+", "")))
  end
end
-- expect: wgmma_hold<32>(rC);
-- expect: wgmma_fence();
-- expect: const unsigned a = wgmma_start(sA, 0x10000u) + c_2 * 512 + slot * 1024;
-- expect: const unsigned b = wgmma_start(sB, 0x200000u) + slot * 512;
-- expect: SM90_64x64x16_F32BF16BF16_SS_KN(rC, wgmma_descriptor<0x40000040u>(a + kk * 2), wgmma_descriptor<0x80000040u>(b + kk * 128), kk > 0 || accumulate);
-- expect: wgmma_commit();
-- expect: wgmma_wait<1>();
-- expect: wgmma_wait<0>();
-- expect: wgmma_hold<32>(rC);
-- expect: wgmma_hold<16>(rO);
-- expect: wgmma_hold<16>(reinterpret_cast<unsigned*>(rP));
-- expect: wgmma_fence();
-- expect: const unsigned b = wgmma_start(sB, 0x0u) + 32;
-- expect: SM90_64x32x16_F32BF16BF16_RS_N(rO, a + k * 4, wgmma_descriptor<0x80000040u>(b + k * 128), true);
-- expect: wgmma_commit();
-- expect: wgmma_wait<0>();
-- expect: wgmma_hold<16>(rO);
print(text:match("wgmma%.mma_async%S+"), text:match("p, 1, 1, [^;]*;"))
-- expect: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16	p, 1, 1, 0, 1;
print((emit("--sm=80"):match(": ([^\n]*)")))
-- expect: wgmma_fence: it needs sm_90a, but the kernel is compiled for sm_80; the CPU engine runs it
os.remove(path)
