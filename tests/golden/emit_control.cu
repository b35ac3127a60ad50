static __device__ __forceinline__ unsigned long long for_trips(long long start, long long stop,
    long long step) {
  const unsigned long long a = start, b = stop, s = step;
  if (step > 0) return start < stop ? (b - a - 1) / s + 1 : 0;
  if (step < 0) return start > stop ? (a - b - 1) / (0 - s) + 1 : 0;
  return 0;
}

extern "C" __global__ void __launch_bounds__(32)
control(const float* __restrict__ x, float* __restrict__ out, int n, int step, long long far) {  // control.lua:1
  const int tid_x = threadIdx.x;
  if (n < 1) return;  // control.lua:2
  int i = 0;  // control.lua:3
  while (n > i) {
    i = (int)((unsigned)i + 1);
  }
  while (i > 3) {  // control.lua:5
    i = (int)((unsigned)i - 3);
  }
  float s = 0.0f;  // control.lua:7
  for (;;) {
    const float s_now = s;
    s += 1.0f;
    if (s > 10.0f) break;
    for (int j = 0; j < n; j++) {  // control.lua:8
      const float v = x[j];
      if (v < 0.0f) goto done;
      if (v < s_now) break;
      if (v == 5.0f) continue;  // control.lua:9
      s += v;
    }
    s *= 2.0f;  // control.lua:10
  }
  done:;
  for (int d = n; d > 0; d -= 2) {  // control.lua:11
    s += (float)d;
  }
  #pragma unroll 4
  for (long long i_2_64 = 0; i_2_64 < n; i_2_64 += 3) {
    const int i_2 = (int)i_2_64;
    s += (float)i_2;
  }
  for (unsigned long long trip = 0, trips = for_trips(0, n, step); trip < trips; trip++) {
    const int e = (int)((unsigned)0 + (unsigned)trip * step);
    s += (float)e;
  }
  for (unsigned long long trip = 0, trips = for_trips(1LL, far, 2LL); trip < trips; trip++) {
    const long long f = (long long)((unsigned long long)1LL + (unsigned long long)trip * 2LL);
    s += (float)f;
  }
  float kept = 0.0f;  // control.lua:12
  #pragma unroll 1
  for (int i_2 = 0; i_2 < n; i_2++) {
    if (i_2 == 0) {
      kept = 3.0f;
    }
    out[i_2] = kept;
  }
  const float v = tid_x < n ? (tid_x > 3 ? x[tid_x] : 1.0f) : 2.0f;  // control.lua:14
  out[1] = v;
  if (n == 1) {  // control.lua:15
    out[2] = 1.0f;
  } else if (n == 2) {  // control.lua:16
    out[2] = 2.0f;
  } else {
    out[2] = 3.0f;  // control.lua:17
  }
  float result;  // control.lua:18
  if (s < 0.0f) {
    result = 10.0f;
  } else if (s < 1.0f) {
    result = 11.0f;
  } else {
    result = s;
  }
  out[3] = result;
  {
    for (int i_2 = 0; i_2 < n; i_2++) {  // control.lua:20
      if (x[i_2] == 0.0f) goto done_2;
    }
    out[4] = 1.0f;
  }
  done_2:;
  __syncwarp();  // control.lua:22
  out[5] = s;
}
