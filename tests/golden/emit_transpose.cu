extern "C" __global__ void __launch_bounds__(256)
transpose(const float* __restrict__ A, int A_stride1, float* __restrict__ B, int B_stride1) {  // transpose.lua:2
  __shared__ __align__(16) float s[1055];  // transpose.lua:3
  const int tid_x = threadIdx.x;
  const int bid_x = blockIdx.x;
  const int bid_y = blockIdx.y;
  float* const tAsA = s + (tid_x % 32 + tid_x / 32 * 33);  // transpose.lua:5
  const float* const tAgA = A + (bid_x * 32 + bid_y * (A_stride1 * 32) + tid_x % 32
      + tid_x / 32 * A_stride1);
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    tAsA[i * 264] = tAgA[i * (A_stride1 * 8)];
  }
  __syncthreads();  // transpose.lua:6
  float* const tBgB = B + (bid_y * 32 + bid_x * (B_stride1 * 32) + tid_x % 32
      + tid_x / 32 * B_stride1);  // transpose.lua:7
  const float* const tBsB = s + (tid_x % 32 * 33 + tid_x / 32);
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    tBgB[i * (B_stride1 * 8)] = tBsB[i * 8];
  }
}
