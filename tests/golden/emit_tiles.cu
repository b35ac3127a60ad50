static __device__ __forceinline__ void cp_async_16(void* dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
               "r"((unsigned)__cvta_generic_to_shared(dst)),
               "l"(__cvta_generic_to_global(src)) : "memory");
}
static __device__ __forceinline__ void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(32)
tiles(double* __restrict__ a, int* __restrict__ ints, long long* __restrict__ longs,
    bool* __restrict__ flags, float* __restrict__ big, const float* __restrict__ floats,
    int floats_shape0, float* __restrict__ other) {  // tiles.lua:1
  __shared__ __align__(16) double s[128];
  __shared__ __align__(16) bool sb[256];
  bool rb[8];
  int ri[8];  // tiles.lua:4
  long long r6[6];  // tiles.lua:5
  long long q6[6];
  float rf[4];  // tiles.lua:7
  int rj[8];  // tiles.lua:8
  float mn[12];  // tiles.lua:9
  float ra[8];  // tiles.lua:10
  float rn[6];
  #pragma unroll  // tiles.lua:2
  for (int i = 0; i < 64; i++) {
    cp_async_16(s + i * 2, a + i * 2);
  }
  #pragma unroll  // tiles.lua:3
  for (int i = 0; i < 16; i++) {
    cp_async_16(sb + i * 16, flags + i * 16);
  }
  cp_async_wait_all();
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    rb[i] = sb[i];
  }
  #pragma unroll  // tiles.lua:4
  for (int j = 0; j < 2; j++) {
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      ri[i * 2 + j] = 7;
    }
  }
  #pragma unroll
  for (int i = 0; i < 2; i++) {
    *reinterpret_cast<int4*>(ints + i * 4) = make_int4(ri[i], ri[i + 2], ri[i + 4], ri[i + 6]);
  }
  #pragma unroll
  for (int i = 0; i < 2; i++) {
    const int4 v = *reinterpret_cast<const int4*>(ints + i * 4);
    ri[i] = v.x;
    ri[i + 2] = v.y;
    ri[i + 4] = v.z;
    ri[i + 6] = v.w;
  }
  #pragma unroll  // tiles.lua:5
  for (int i = 0; i < 3; i++) {
    const longlong2 v = *reinterpret_cast<const longlong2*>(longs + i * 2);
    r6[i] = v.x;
    r6[i + 3] = v.y;
  }
  #pragma unroll
  for (int i = 0; i < 6; i++) {
    q6[i % 3 * 2 + i / 3] = r6[i % 2 * 3 + i / 2];
  }
  #pragma unroll
  for (int j = 0; j < 2; j++) {
    #pragma unroll
    for (int i = 0; i < 3; i++) {
      longs[i + j * 3] = q6[i * 2 + j];
    }
  }
  for (int j = 0; j < 4; j++) {  // tiles.lua:6
    for (int i = 0; i < floats_shape0; i++) {
      other[i * 4 + j] = floats[i * 4 + j];
    }
  }
  #pragma unroll  // tiles.lua:7
  for (int i = 0; i < 2; i++) {
    const float2 v = *reinterpret_cast<const float2*>(big + i * 2147480000);
    rf[i * 2] = v.x;
    rf[i * 2 + 1] = v.y;
  }
  #pragma unroll  // tiles.lua:8
  for (int i = 0; i < 8; i++) {
    rj[i] = 1;
  }
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    rj[i] = (int)((unsigned)3 * ri[i] + (unsigned)rj[i]);
  }
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    ri[i] = (int)((unsigned)ri[i] * rj[i] + ri[i]);
  }
  #pragma unroll
  for (int i = 0; i < 2; i++) {
    *reinterpret_cast<int4*>(ints + i * 4) =
        make_int4(ri[i * 4], ri[i * 4 + 1], ri[i * 4 + 2], ri[i * 4 + 3]);
  }
  #pragma unroll  // tiles.lua:9
  for (int i = 0; i < 12; i++) {
    mn[i] = 0.0f;
  }
  {
    float a_2[4], b[3];
    const float4 v = *reinterpret_cast<const float4*>(floats);
    a_2[0] = v.x; a_2[1] = v.y; a_2[2] = v.z; a_2[3] = v.w;
    #pragma unroll
    for (int n = 0; n < 3; n++) {
      b[n] = floats[n];
    }
    #pragma unroll
    for (int p = 0; p < 2; p++) {
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int ii = 0; ii < 2; ii++) {
          const int m = (p % 2 == 0 ? i : 3 - i);
          const int n = p * 2 + (i % 2 == 0 ? ii : 1 - ii);
          if (n >= 3) continue;
          mn[m + n * 4] = fmaf(a_2[m], b[n], mn[m + n * 4]);
        }
      }
    }
  }
  #pragma unroll  // tiles.lua:10
  for (int k = 0; k < 2; k++) {
    #pragma unroll
    for (int j = 0; j < 2; j++) {
      #pragma unroll
      for (int i = 0; i < 2; i++) {
        ra[i + j * 4 + k * 2] = 2.0f;
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 6; i++) {
    rn[i] = 3.0f;
  }
  #pragma unroll
  for (int k = 0; k < 2; k++) {
    #pragma unroll
    for (int m = 0; m < 4; m++) {
      #pragma unroll
      for (int n = 0; n < 3; n++) {
        mn[m + n * 4] = fmaf(ra[m % 2 + m / 2 * 4 + k * 2], rn[n + k * 3], mn[m + n * 4]);
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 12; i++) {
    other[i] = mn[i] + 0.5f * other[i];
  }
  #pragma unroll  // tiles.lua:11
  for (int i = 0; i < 64; i++) {
    *reinterpret_cast<double2*>(a + i * 2) = *reinterpret_cast<const double2*>(s + i * 2);
  }
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    sb[i] = rb[i];
  }
  #pragma unroll
  for (int i = 0; i < 16; i++) {
    *reinterpret_cast<uint4*>(flags + i * 16) = *reinterpret_cast<const uint4*>(sb + i * 16);
  }
  #pragma unroll
  for (int i = 0; i < 2; i++) {
    *reinterpret_cast<float2*>(big + i * 2147480000) = make_float2(rf[i * 2], rf[i * 2 + 1]);
  }
}
