extern "C" __global__ void __launch_bounds__(256)
matmul(const float* __restrict__ A, int A_shape1, int A_stride1, const float* __restrict__ B,
    int B_stride1, float* __restrict__ C, int C_stride1) {  // matmul.lua:6
  __shared__ __align__(16) float sA[1031];  // matmul.lua:7
  __shared__ __align__(16) float sB[1031];  // matmul.lua:8
  float tCrC[64];  // matmul.lua:18
  const int tid_x = threadIdx.x;
  const int bid_x = blockIdx.x;
  const int bid_y = blockIdx.y;
  const float* const tAgA = A + (bid_x * 128 + tid_x % 32 + tid_x / 32 * A_stride1);  // matmul.lua:13
  const int tBsB_at = tid_x % 32 + tid_x / 32 * 129;
  float* const tAsA = sA + tBsB_at;
  float* const tBsB = sB + tBsB_at;
  const float* const tBgB = B + (bid_y * 128 + tid_x % 32 + tid_x / 32 * B_stride1);  // matmul.lua:14
  const float* const tCsA = sA + tid_x % 16;  // matmul.lua:15
  const float* const tCsB = sB + tid_x / 16;  // matmul.lua:16
  float* const tCgC = C + (bid_x * 128 + bid_y * (C_stride1 * 128) + tid_x % 16
      + tid_x / 16 * C_stride1);  // matmul.lua:17
  #pragma unroll  // matmul.lua:19
  for (int i = 0; i < 64; i++) {
    tCrC[i] = 0.0f;
  }
  for (int k = 0; k < A_shape1 / 8; k++) {  // matmul.lua:21
    const float* const tAgA_k = tAgA + k * (A_stride1 * 8);  // matmul.lua:22
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      tAsA[i * 32] = tAgA_k[i * 32];
    }
    const float* const tBgB_k = tBgB + k * (B_stride1 * 8);  // matmul.lua:23
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      tBsB[i * 32] = tBgB_k[i * 32];
    }
    __syncthreads();  // matmul.lua:25
    #pragma unroll  // matmul.lua:26
    for (int kk = 0; kk < 8; kk++) {
      float a[8], b[8];
      #pragma unroll
      for (int m = 0; m < 8; m++) {
        a[m] = tCsA[m * 16 + kk * 129];
      }
      #pragma unroll
      for (int n = 0; n < 8; n++) {
        b[n] = tCsB[n * 16 + kk * 129];
      }
      #pragma unroll
      for (int n = 0; n < 8; n++) {
        #pragma unroll
        for (int m = 0; m < 8; m++) {
          tCrC[m + n * 8] = fmaf(a[m], b[n], tCrC[m + n * 8]);
        }
      }
    }
    __syncthreads();  // matmul.lua:27
  }
  #pragma unroll  // matmul.lua:29
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int i = 0; i < 8; i++) {
      tCgC[i * 16 + j * (C_stride1 * 16)] = tCrC[i + j * 8];
    }
  }
}
