extern "C" __global__ void __launch_bounds__(32)
escape(const float* __restrict__ x, float* __restrict__ out) {  // escape.lua:1
  const int tid_x = threadIdx.x;
  const float x_tid_x = x[tid_x];
  const float shifted = __shfl_sync(0xffffffff, x_tid_x, (tid_x + 1) % 32);  // escape.lua:2
  __nanosleep(10);  // escape.lua:3
  { const int twice = (tid_x + 1) * 2;
if (twice < 0) { __trap(); } }  // escape.lua:4
  out[tid_x] = x_tid_x + shifted;  // escape.lua:6
}
