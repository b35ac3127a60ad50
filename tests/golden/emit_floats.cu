static __device__ __forceinline__ float floormod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
static __device__ __forceinline__ double floormod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
static __device__ __forceinline__ int to_int(double x) { return x != x ? 0 : __double2int_rz(x); }
static __device__ __forceinline__ long long to_long_long(float x) { return x != x ? 0 : __float2ll_rz(x); }
static __device__ __forceinline__ long long to_long_long(double x) { return x != x ? 0 : __double2ll_rz(x); }

extern "C" __global__ void __launch_bounds__(1)
floats(float* __restrict__ out, double* __restrict__ wide, int* __restrict__ ints,
    long long* __restrict__ longs, bool* __restrict__ flags, float a, double x, float b, double y,
    int i, long long l) {  // floats.lua:1
  out[0] = a + b;  // floats.lua:2
  out[1] = a - b;  // floats.lua:3
  out[2] = a * b;  // floats.lua:4
  out[3] = a / b;  // floats.lua:5
  out[4] = floorf(a / b);  // floats.lua:6
  out[5] = powf(a, b);  // floats.lua:7
  out[6] = fminf(a, b);  // floats.lua:8
  out[7] = floormod(a, b);  // floats.lua:9
  out[8] = fmaxf(a, b);  // floats.lua:10
  out[9] = -a;  // floats.lua:11
  out[10] = fabsf(a);  // floats.lua:12
  out[11] = sqrtf(a);  // floats.lua:13
  out[12] = rsqrtf(a);  // floats.lua:14
  out[13] = expf(a);  // floats.lua:15
  out[14] = exp2f(a);  // floats.lua:16
  out[15] = logf(a);  // floats.lua:17
  out[16] = log2f(a);  // floats.lua:18
  out[17] = sinf(a);  // floats.lua:19
  out[18] = cosf(a);  // floats.lua:20
  out[19] = tanhf(a);  // floats.lua:21
  out[20] = floorf(a);  // floats.lua:22
  out[21] = ceilf(a);  // floats.lua:23
  out[22] = fmaf(a, b, -a);  // floats.lua:40
  out[23] = a + (b + a);
  out[24] = a - (b - a);
  out[25] = a / (b / a);
  out[26] = -(-a);
  out[27] = 0.0f;
  out[28] = -0.0f;
  out[29] = 1.0f;
  out[30] = 100.0f;
  out[31] = 0.1f;
  out[32] = -2.5e-30f;
  out[33] = 16777216.0f;
  out[34] = 3.4e+38f;
  out[35] = 1e+10f;
  out[36] = 1e-45f;
  out[37] = __int_as_float(0x7f800000);
  out[38] = __int_as_float(0xff800000);
  out[39] = (float)x;
  out[40] = (float)i;
  out[41] = (float)l;
  ints[0] = __float2int_rz(a);
  longs[0] = to_long_long(a);
  const bool cond = a != 0.0f;
  flags[0] = cond;
  flags[2] = !(a < b);
  wide[0] = x + y;  // floats.lua:2
  wide[1] = x - y;  // floats.lua:3
  wide[2] = x * y;  // floats.lua:4
  wide[3] = x / y;  // floats.lua:5
  wide[4] = floor(x / y);  // floats.lua:6
  wide[5] = pow(x, y);  // floats.lua:7
  wide[6] = fmin(x, y);  // floats.lua:8
  wide[7] = floormod(x, y);  // floats.lua:9
  wide[8] = fmax(x, y);  // floats.lua:10
  wide[9] = -x;  // floats.lua:11
  wide[10] = fabs(x);  // floats.lua:12
  wide[11] = sqrt(x);  // floats.lua:13
  wide[12] = rsqrt(x);  // floats.lua:14
  wide[13] = exp(x);  // floats.lua:15
  wide[14] = exp2(x);  // floats.lua:16
  wide[15] = log(x);  // floats.lua:17
  wide[16] = log2(x);  // floats.lua:18
  wide[17] = sin(x);  // floats.lua:19
  wide[18] = cos(x);  // floats.lua:20
  wide[19] = tanh(x);  // floats.lua:21
  wide[20] = floor(x);  // floats.lua:22
  wide[21] = ceil(x);  // floats.lua:23
  wide[22] = fma(x, y, -x);  // floats.lua:40
  wide[23] = x + (y + x);
  wide[24] = x - (y - x);
  wide[25] = x / (y / x);
  wide[26] = -(-x);
  wide[27] = 0.0;
  wide[28] = -0.0;
  wide[29] = 1.0;
  wide[30] = 100.0;
  wide[31] = 0.1;
  wide[32] = -2.5e-30;
  wide[33] = 16777216.0;
  wide[34] = 3.4e+38;
  wide[35] = 1e+10;
  wide[36] = 1e-45;
  wide[37] = __longlong_as_double(0x7ff0000000000000LL);
  wide[38] = __longlong_as_double(0xfff0000000000000LL);
  wide[39] = (double)a;
  wide[40] = (double)i;
  wide[41] = (double)l;
  ints[1] = to_int(x);
  longs[1] = to_long_long(x);
  flags[1] = x != 0.0;
  flags[3] = !(x < y);
  flags[4] = i != 0;
  flags[5] = true;
  ints[4] = (int)cond;
}
