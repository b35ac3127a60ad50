extern "C" __global__ void __launch_bounds__(128)
float_kernel(float* __restrict__ int_2, const float* __restrict__ max_2) {  // names.lua:1
  extern __shared__ __align__(128) unsigned char smem[];
  float* const smem_2 = reinterpret_cast<float*>(smem + 0);
  float* const v_x = reinterpret_cast<float*>(smem + 51200);
  float for_2[8];
  const int threadIdx_2 = threadIdx.x;  // names.lua:2
  smem_2[threadIdx_2] = max_2[threadIdx_2];
  v_x[threadIdx_2] = 1.0f;
  #pragma unroll
  for (int while_2 = 0; while_2 < 8; while_2++) {
    for_2[while_2] = smem_2[threadIdx_2 + while_2];
  }
  __syncthreads();  // names.lua:3
  const float fmaf_2 = for_2[3] + v_x[threadIdx_2];
  int_2[threadIdx_2] = fmaf_2;
}
