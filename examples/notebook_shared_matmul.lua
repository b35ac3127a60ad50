-- notebook_shared_matmul.lua: the matrix products of a notebook on shared memory in CUDA and Numba:
-- out = m * n, row-major, of any size: naive, and with tiles of tw x tw in shared memory. Each is
-- checked on ragged sizes; on a GPU each is timed beside the same kernel, by hand in CUDA C.
-- Usage: cuttle notebook_shared_matmul.lua [h K w]    m is h x K, n is K x w
local on_gpu = device().sm ~= nil
local H = tonumber(arg[1] or (on_gpu and 5120 or 150))
local K = tonumber(arg[2] or (on_gpu and 256 or 70))
local W = tonumber(arg[3] or (on_gpu and 5120 or 130))

-- {====== The kernels ======

local naive = kernel("matmul_naive", function(m, n, out)
  local h, w = size(out, 0), size(out, 1)
  local r = blockIdx.y * blockDim.y + threadIdx.y
  local c = blockIdx.x * blockDim.x + threadIdx.x
  if r < h and c < w then
    local p = 0.0
    for i = 0, size(m, 1) - 1 do p = p + m[{r, i}] * n[{i, c}] end
    out[{r, c}] = p
  end
end)

-- ms and ns hold one tile each. Where tw is a number of Lua's, the loop over i is unrolled while
-- tracing; where it is an argument of the launch, it is a loop of the kernel.
local function multiply_tiles(m, n, out, tw, ms, ns)
  local h, w, k = size(out, 0), size(out, 1), size(m, 1)
  local tc, tr = threadIdx.x, threadIdx.y
  local r, c = blockIdx.y * blockDim.y + tr, blockIdx.x * blockDim.x + tc
  local p = 0.0
  for ph = 0, cdiv(k, tw) - 1 do
    local x = ph * tw
    ms[{tr, tc}] = r < h and x + tc < k and m[{r, x + tc}] or 0.0
    ns[{tr, tc}] = c < w and x + tr < k and n[{x + tr, c}] or 0.0
    sync_threads()
    for i = 0, tw - 1 do p = p + ms[{tr, i}] * ns[{i, tc}] end
    sync_threads()
  end
  if r < h and c < w then out[{r, c}] = p end
end

-- Dynamic shared memory: the launch says how many bytes, and how wide the tiles are.
local dynamic = kernel("matmul_dynamic", function(m, n, out, tw)
  local both = view(shared(f32), layout({tw, tw, 2}, {tw, 1, tw * tw}))
  multiply_tiles(m, n, out, tw, both(_, _, 0), both(_, _, 1))
end)

-- Static shared memory. The closure is the template: its tw is a constant of the kernel.
local function make_matmul(tw)
  return kernel("matmul_static" .. tw, function(m, n, out)
    local ms, ns = shared(f32, row_major{tw, tw}), shared(f32, row_major{tw, tw})
    multiply_tiles(m, n, out, tw, ms, ns)
  end)
end

-- {====== The same by hand ======

local by_hand = [[
extern "C" __global__ void __launch_bounds__(TW * TW)
matmul_naive(const float* __restrict__ m, const float* __restrict__ n, float* __restrict__ out,
             int h, int w, int k) {
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= h || c >= w) return;
  float p = 0.0f;
  for (int i = 0; i < k; i++) p = fmaf(m[r * k + i], n[i * w + c], p);
  out[r * w + c] = p;
}

extern "C" __global__ void __launch_bounds__(TW * TW)
matmul_dynamic(const float* __restrict__ m, const float* __restrict__ n, float* __restrict__ out,
               int h, int w, int k, int tw) {
  extern __shared__ float ms[];
  float* ns = ms + tw * tw;
  int tc = threadIdx.x, tr = threadIdx.y;
  int r = blockIdx.y * blockDim.y + tr, c = blockIdx.x * blockDim.x + tc;
  float p = 0.0f;
  for (int ph = 0; ph < (k + tw - 1) / tw; ph++) {
    int x = ph * tw;
    ms[tr * tw + tc] = r < h && x + tc < k ? m[r * k + x + tc] : 0.0f;
    ns[tr * tw + tc] = c < w && x + tr < k ? n[(x + tr) * w + c] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tw; i++) p = fmaf(ms[tr * tw + i], ns[i * tw + tc], p);
    __syncthreads();
  }
  if (r < h && c < w) out[r * w + c] = p;
}

extern "C" __global__ void __launch_bounds__(TW * TW)
matmul_static(const float* __restrict__ m, const float* __restrict__ n, float* __restrict__ out,
              int h, int w, int k) {
  __shared__ float ms[TW][TW], ns[TW][TW];
  int tc = threadIdx.x, tr = threadIdx.y;
  int r = blockIdx.y * TW + tr, c = blockIdx.x * TW + tc;
  float p = 0.0f;
  for (int ph = 0; ph < (k + TW - 1) / TW; ph++) {
    int x = ph * TW;
    ms[tr][tc] = r < h && x + tc < k ? m[r * k + x + tc] : 0.0f;
    ns[tr][tc] = c < w && x + tr < k ? n[(x + tr) * w + c] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TW; i++) p = fmaf(ms[tr][i], ns[i][tc], p);
    __syncthreads();
  }
  if (r < h && c < w) out[r * w + c] = p;
}
]]

-- {====== Running ======

local variants = {
  {name = "naive", tw = 16, kernel = naive, hand = "matmul_naive"},
  {name = "dynamic, tw = 16", tw = 16, kernel = dynamic, hand = "matmul_dynamic", takes_tw = true},
  {name = "static, tw = 8", tw = 8, kernel = make_matmul(8), hand = "matmul_static"},
  {name = "static, tw = 16", tw = 16, kernel = make_matmul(16), hand = "matmul_static"},
  {name = "static, tw = 32", tw = 32, kernel = make_matmul(32), hand = "matmul_static"},
}

-- The matrices of a size, and what their product is; reference.matmul takes n as (w, K).
local function make_problem(h, k, w)
  local m, n = rand(f32, row_major{h, k}), rand(f32, row_major{k, w})
  local want = reference.matmul(m, view(n, layout({w, k}, {1, w})))
  return {h = h, k = k, w = w, m = m, n = n, want = want}
end

local function config_of(v, p)
  local smem = v.takes_tw and 2 * v.tw * v.tw * 4 or 0
  return {grid = {cdiv(p.w, v.tw), cdiv(p.h, v.tw)}, block = {v.tw, v.tw}, smem = smem}
end
local function arguments(v, p, out)
  if v.takes_tw then return p.m, p.n, out, v.tw end
  return p.m, p.n, out
end

-- Fills what the kernel must overwrite with a number that no product is.
local function check(v, p)
  local out = full(f32, row_major{p.h, p.w}, -1)
  v.kernel(config_of(v, p))(arguments(v, p, out))
  local ok, worst = allclose(out, p.want)
  if not ok then print(("%s, %dx%dx%d: %s"):format(v.name, p.h, p.k, p.w, worst)) end
  return ok
end

local all_ok = true
local sizes = {{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {5, 3, 0}, {37, 41, 43}, {33, 65, 17}, {64, 32, 96}}
if on_gpu then
  sizes[#sizes + 1] = {4095, 4097, 131}
  sizes[#sizes + 1] = {4097, 127, 4095}
end
for _, s in ipairs(sizes) do
  local p = make_problem(table.unpack(s))
  for _, v in ipairs(variants) do all_ok = check(v, p) and all_ok end
end
print(("%d ragged sizes on %s: %s"):format(#sizes, device().name, all_ok and "correct" or "wrong"))

-- The time of ours and of the one by hand, in turns, the best of three each.
local function time(v, p)
  local out, config = zeros(f32, row_major{p.h, p.w}), config_of(v, p)
  local launch, hand = v.kernel:prepare(config)(arguments(v, p, out))
  local ms, hand_ms = math.huge, math.huge
  if on_gpu and p.h > 0 and p.w > 0 then
    local other = cuda_kernel(v.hand, by_hand, {"-DTW=" .. v.tw})
    local hand_config = other(config)
    local sizes_of_hand = v.takes_tw and {p.h, p.w, p.k, v.tw} or {p.h, p.w, p.k}
    hand = function() hand_config(p.m, p.n, out, table.unpack(sizes_of_hand)) end
    v.registers = ("%d (%d)"):format(v.kernel(config):info(arguments(v, p, out)).registers,
      other:info().registers)
  end
  for _ = 1, on_gpu and 3 or 1 do
    ms = math.min(ms, (bench(launch)))
    if hand then hand_ms = math.min(hand_ms, (bench(hand))) end
  end
  return ms, hand and hand_ms
end

local problem = make_problem(H, K, W)
print(("\n%dx%d times %dx%d, f32"):format(H, K, K, W))
print(("%-18s %10s %10s  %s"):format("kernel", "ms", "GFLOP/s",
  on_gpu and "by hand ms  times as fast  registers (by hand)" or ""))
for _, v in ipairs(variants) do
  local ok = check(v, problem)
  local ms, hand_ms = time(v, problem)
  all_ok = all_ok and ok
  print(("%-18s %10.4f %10.1f  %s%s"):format(v.name, ms, 2 * H * K * W / ms * 1e-6,
    hand_ms and ("%10.4f  %13.3f  %s"):format(hand_ms, hand_ms / ms, v.registers) or "",
    ok and "" or "  wrong"))
end
print(all_ok and "\nall correct" or "\nwrong")
os.exit(all_ok, true)
