-- notebook.lua: the kernels of examples/notebook_shared_matmul.lua beside the same by hand in CUDA
-- C, alternately on the current device: the best of three each.
local ct = require "cuttle"
local example = require "example"
local M = {}

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

local hand_of <const> = { ["naive"] = "matmul_naive", ["dynamic, tw = 16"] = "matmul_dynamic" }

--- The example's locals; what it prints until it takes times is left out. The current device stays.
function M.page()
  local d = ct.device()
  local say = print
  print = function() end -- luacheck: ignore 121
  local page = example.run_to("bench", "notebook_shared_matmul")
  print = say -- luacheck: ignore 121
  ct.device(d.sm and "cuda:" .. d.ordinal or "cpu")
  return page
end

-- Launches the kernel by hand as `config` says; and how many registers ours and this one take.
local function by_hand_of(page, v, p, out, config)
  local other = ct.cuda_kernel(hand_of[v.name] or "matmul_static", by_hand, { "-DTW=" .. v.tw })
  local hand_config = other { grid = config.grid, block = config.block,
                              smem = v.takes_tw and config.smem or 0 }
  local sizes = v.takes_tw and { p.h, p.w, p.k, v.tw } or { p.h, p.w, p.k }
  local registers = ("%d (%d)"):format(v.kernel(config):info(page.arguments(v, p, out)).registers,
    other:info().registers)
  return function() hand_config(p.m, p.n, out, table.unpack(sizes)) end, registers
end

local function measure(page, v, p)
  local out, config = ct.zeros(ct.f32, ct.row_major { p.h, p.w }), page.config_of(v, p)
  local launch = v.kernel:prepare(config)(page.arguments(v, p, out))
  local hand, registers = by_hand_of(page, v, p, out, config)
  local ms, hand_ms = math.huge, math.huge
  for _ = 1, 3 do
    ms = math.min(ms, (ct.bench(launch)))
    hand_ms = math.min(hand_ms, (ct.bench(hand)))
  end
  print(("%-18s %10.4f %10.1f  %10.4f  %13.3f  %s"):format(v.name, ms,
    2 * p.h * p.k * p.w / ms * 1e-6, hand_ms, hand_ms / ms, registers))
end

--- 5120x256 times 256x5120, as the notebook has it.
function M.run()
  if not ct.device().sm then
    print("notebook: skipped, the current device is no GPU")
    return
  end
  local page = M.page()
  local p = page.make_problem(5120, 256, 5120)
  print(("%-18s %10s %10s  by hand ms  times as fast  registers (by hand)"):format("kernel", "ms",
    "GFLOP/s"))
  for _, v in ipairs(page.variants) do measure(page, v, p) end
end

return M
