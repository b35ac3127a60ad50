extern "C" __global__ void __launch_bounds__(256)
matmul_shared(const float* __restrict__ m, int m_shape1, int m_stride0,
    const float* __restrict__ n, int n_stride0, float* __restrict__ out, int out_shape0,
    int out_shape1, int out_stride0) {  // matmul_shared.lua:2
  __shared__ __align__(16) float ms[256];  // matmul_shared.lua:4
  __shared__ __align__(16) float ns[256];
  const int tc = threadIdx.x;  // matmul_shared.lua:5
  const int tr = threadIdx.y;
  const int bid_x = blockIdx.x;
  const int bid_y = blockIdx.y;
  const int r = bid_y * 16 + tr;  // matmul_shared.lua:6
  const int c = bid_x * 16 + tc;
  float p = 0.0f;  // matmul_shared.lua:7
  for (int ph = 0; ph < m_shape1 / 16; ph++) {  // matmul_shared.lua:8
    const int x = ph * 16;  // matmul_shared.lua:9
    const float v = r < out_shape0 && x + tc < m_shape1 ? m[r * m_stride0 + x + tc] : 0.0f;  // matmul_shared.lua:10
    const int ms_at = tr * 16 + tc;
    ms[ms_at] = v;
    const float v_2 = c < out_shape1 && x + tr < m_shape1 ? n[(x + tr) * n_stride0 + c] : 0.0f;  // matmul_shared.lua:11
    ns[ms_at] = v_2;
    __syncthreads();  // matmul_shared.lua:12
    p = fmaf(ms[tr * 16], ns[tc], p);  // matmul_shared.lua:13
    p = fmaf(ms[tr * 16 + 1], ns[tc + 16], p);
    p = fmaf(ms[tr * 16 + 2], ns[tc + 32], p);
    p = fmaf(ms[tr * 16 + 3], ns[tc + 48], p);
    p = fmaf(ms[tr * 16 + 4], ns[tc + 64], p);
    p = fmaf(ms[tr * 16 + 5], ns[tc + 80], p);
    p = fmaf(ms[tr * 16 + 6], ns[tc + 96], p);
    p = fmaf(ms[tr * 16 + 7], ns[tc + 112], p);
    p = fmaf(ms[tr * 16 + 8], ns[tc + 128], p);
    p = fmaf(ms[tr * 16 + 9], ns[tc + 144], p);
    p = fmaf(ms[tr * 16 + 10], ns[tc + 160], p);
    p = fmaf(ms[tr * 16 + 11], ns[tc + 176], p);
    p = fmaf(ms[tr * 16 + 12], ns[tc + 192], p);
    p = fmaf(ms[tr * 16 + 13], ns[tc + 208], p);
    p = fmaf(ms[tr * 16 + 14], ns[tc + 224], p);
    p = fmaf(ms[tr * 16 + 15], ns[tc + 240], p);
    __syncthreads();  // matmul_shared.lua:14
  }
  if (r < out_shape0 && c < out_shape1) {  // matmul_shared.lua:16
    out[r * out_stride0 + c] = p;
  }
}
