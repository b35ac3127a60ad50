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
  out[20] = erff(a);  // floats.lua:22
  out[21] = erfcf(a);  // floats.lua:23
  out[22] = expm1f(a);  // floats.lua:24
  out[23] = log1pf(a);  // floats.lua:25
  out[24] = log10f(a);  // floats.lua:26
  out[25] = cbrtf(a);  // floats.lua:27
  out[26] = sinhf(a);  // floats.lua:28
  out[27] = coshf(a);  // floats.lua:29
  out[28] = asinf(a);  // floats.lua:30
  out[29] = acosf(a);  // floats.lua:31
  out[30] = atanf(a);  // floats.lua:32
  out[31] = floorf(a);  // floats.lua:33
  out[32] = ceilf(a);  // floats.lua:34
  out[33] = truncf(a);  // floats.lua:35
  out[34] = roundf(a);  // floats.lua:36
  out[35] = rintf(a);  // floats.lua:37
  out[36] = fmaf(a, b, -a);  // floats.lua:40
  out[37] = a + (b + a);
  out[38] = a - (b - a);
  out[39] = a / (b / a);
  out[40] = -(-a);
  out[41] = 0.0f;
  out[42] = -0.0f;
  out[43] = 1.0f;
  out[44] = 100.0f;
  out[45] = 0.1f;
  out[46] = -2.5e-30f;
  out[47] = 16777216.0f;
  out[48] = 3.4e+38f;
  out[49] = 1e+10f;
  out[50] = 1e-45f;
  out[51] = __int_as_float(0x7f800000);
  out[52] = __int_as_float(0xff800000);
  out[53] = (float)x;
  out[54] = (float)i;
  out[55] = (float)l;
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
  wide[20] = erf(x);  // floats.lua:22
  wide[21] = erfc(x);  // floats.lua:23
  wide[22] = expm1(x);  // floats.lua:24
  wide[23] = log1p(x);  // floats.lua:25
  wide[24] = log10(x);  // floats.lua:26
  wide[25] = cbrt(x);  // floats.lua:27
  wide[26] = sinh(x);  // floats.lua:28
  wide[27] = cosh(x);  // floats.lua:29
  wide[28] = asin(x);  // floats.lua:30
  wide[29] = acos(x);  // floats.lua:31
  wide[30] = atan(x);  // floats.lua:32
  wide[31] = floor(x);  // floats.lua:33
  wide[32] = ceil(x);  // floats.lua:34
  wide[33] = trunc(x);  // floats.lua:35
  wide[34] = round(x);  // floats.lua:36
  wide[35] = rint(x);  // floats.lua:37
  wide[36] = fma(x, y, -x);  // floats.lua:40
  wide[37] = x + (y + x);
  wide[38] = x - (y - x);
  wide[39] = x / (y / x);
  wide[40] = -(-x);
  wide[41] = 0.0;
  wide[42] = -0.0;
  wide[43] = 1.0;
  wide[44] = 100.0;
  wide[45] = 0.1;
  wide[46] = -2.5e-30;
  wide[47] = 16777216.0;
  wide[48] = 3.4e+38;
  wide[49] = 1e+10;
  wide[50] = 1e-45;
  wide[51] = __longlong_as_double(0x7ff0000000000000LL);
  wide[52] = __longlong_as_double(0xfff0000000000000LL);
  wide[53] = (double)a;
  wide[54] = (double)i;
  wide[55] = (double)l;
  ints[1] = to_int(x);
  longs[1] = to_long_long(x);
  flags[1] = x != 0.0;
  flags[3] = !(x < y);
  flags[4] = i != 0;
  flags[5] = true;
  ints[4] = (int)cond;
}
