static __device__ __forceinline__ float floormod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
static __device__ __forceinline__ double floormod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
static __device__ __forceinline__ float ct_scale_f32(float p, int n) {
  const int half = n >> 1;
  const float a = __int_as_float((int)((unsigned)(half + 127) << 23));
  const float b = __int_as_float((int)((unsigned)(n - half + 127) << 23));
  return p * a * b;
}
static __device__ __forceinline__ float ct_exp_core_f32(float x, int* n) {
  const float k = fmaf(x, 0x1.715476p0f, 0x1.8p23f);
  const float m = k - 0x1.8p23f;
  const float r = fmaf(m, 0x1.05c61p-29f, fmaf(m, -0x1.62e43p-1f, x));
  float p = fmaf(r, 0x1.6ac814p-10f, 0x1.123de8p-7f);
  p = fmaf(r, p, 0x1.555858p-5f);
  p = fmaf(r, p, 0x1.55548cp-3f);
  p = fmaf(r, p, 0x1.fffffcp-2f);
  *n = (int)(short)__float_as_int(k);
  return fmaf(r * r, p, r);
}
static __device__ __forceinline__ float ct_exp_f32(float x) {
  int n;
  x = x > 100.0f ? 100.0f : x;
  x = x < -110.0f ? -110.0f : x;
  const float t = ct_exp_core_f32(x, &n);
  return ct_scale_f32(1.0f + t, n);
}
static __device__ __forceinline__ float ct_exp2_f32(float x) {
  x = x > 140.0f ? 140.0f : x;
  x = x < -160.0f ? -160.0f : x;
  const float k = x + 0x1.8p23f;
  const float r = x - (k - 0x1.8p23f);
  float p = fmaf(r, 0x1.e1d8fap-17f, 0x1.440df4p-13f);
  p = fmaf(r, p, 0x1.5da49ep-10f);
  p = fmaf(r, p, 0x1.3b2a5cp-7f);
  p = fmaf(r, p, 0x1.c6b06ep-5f);
  p = fmaf(r, p, 0x1.ebfbep-3f);
  p = fmaf(r, p, 0x1.62e43p-1f);
  return ct_scale_f32(fmaf(r, p, 1.0f), (int)(short)__float_as_int(k));
}
static __device__ __forceinline__ float ct_expm1_f32(float x) {
  int n;
  float y = x > 89.0f ? 89.0f : x;
  y = y < -30.0f ? -30.0f : y;
  const float t = ct_exp_core_f32(y, &n);
  const float m = __int_as_float((int)((unsigned)(n + 126) << 23));
  const float r = 2.0f * fmaf(t, m, m - 0.5f);
  return fabsf(x) < 0x1p-26f ? x : r;
}
static __device__ __forceinline__ float ct_log1p_tail_f32(float f) {
  float p = fmaf(f, 0x1.599e46p-5f, -0x1.a71bap-4f);
  p = fmaf(f, p, 0x1.f7cc74p-4f);
  p = fmaf(f, p, -0x1.0357f4p-3f);
  p = fmaf(f, p, 0x1.22c9aep-3f);
  p = fmaf(f, p, -0x1.550a8p-3f);
  p = fmaf(f, p, 0x1.99a6bp-3f);
  p = fmaf(f, p, -0x1.0000c8p-2f);
  p = fmaf(f, p, 0x1.555546p-2f);
  return f * f * fmaf(f, p, -0.5f);
}
static __device__ __forceinline__ float ct_log_split_f32(float x, float* e) {
  const bool is_small = x < 0x1p-126f;
  const unsigned b = (unsigned)__float_as_int(is_small ? x * 0x1p25f : x);
  const int k = (int)(b - 0x3f3504f3u) >> 23;
  *e = (float)(is_small ? k - 25 : k);
  return __int_as_float((int)(b - ((unsigned)k << 23))) - 1.0f;
}
static __device__ __forceinline__ float ct_log_special_f32(float x, float y) {
  const float other = x < 0.0f ? __int_as_float(0x7fffffff) : x + x;
  const float outside = x == 0.0f ? __int_as_float((int)0xff800000u) : other;
  return ((x > 0.0f) & (x <= 0x1.fffffep127f)) ? y : outside;
}
static __device__ __forceinline__ float ct_log_f32(float x) {
  float e;
  const float f = ct_log_split_f32(x, &e);
  const float q = ct_log1p_tail_f32(f);
  const float y = fmaf(e, 0x1.62e43p-1f, f + fmaf(e, -0x1.05c61p-29f, q));
  return ct_log_special_f32(x, y);
}
static __device__ __forceinline__ float ct_log2_f32(float x) {
  float e;
  const float f = ct_log_split_f32(x, &e);
  const float q = ct_log1p_tail_f32(f);
  const float h = __fmul_rn(f, 0x1.715476p0f);
  const float l = fmaf(q, 0x1.715476p0f, fmaf(f, 0x1.4ae0cp-26f, fmaf(f, 0x1.715476p0f, -h)));
  const float s = e + h;
  return ct_log_special_f32(x, s + (e - s + h + l));
}
static __device__ __forceinline__ float ct_log10_f32(float x) {
  float e;
  const float f = ct_log_split_f32(x, &e);
  const float q = ct_log1p_tail_f32(f);
  const float h = __fmul_rn(f, 0x1.bcb7b2p-2f);
  const float t = fmaf(q, 0x1.bcb7b2p-2f, fmaf(f, -0x1.5b235ep-27f, fmaf(f, 0x1.bcb7b2p-2f, -h)));
  const float l = fmaf(e, 0x1.3509f8p-18f, t);
  const float g = __fmul_rn(e, 0x1.344p-2f);
  const float s = g + h;
  return ct_log_special_f32(x, s + (g - s + h + l));
}
static __device__ __forceinline__ float ct_log1p_f32(float x) {
  const float y = 1.0f + x;
  const int k = (int)((unsigned)__float_as_int(y) - 0x3f3504f3u) >> 23;
  const float s = __int_as_float((int)((unsigned)(129 - k) << 23));
  const float f = k == 0 ? x : fmaf(0.25f * x, s, fmaf(0.25f, s, -1.0f));
  const float e = (float)k;
  const float q = ct_log1p_tail_f32(f);
  const float r = fmaf(e, 0x1.62e43p-1f, f + fmaf(e, -0x1.05c61p-29f, q));
  return fabsf(x) < 0x1p-26f ? x : ct_log_special_f32(y, r);
}
static __device__ __forceinline__ float ct_angle_far_f32(float x, int* q, float* low) {
  static const unsigned two_over_pi[8] = {0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
      0xdb629599u, 0x3c439041u, 0xfe5163abu};
  const unsigned b = (unsigned)__float_as_int(x);
  const unsigned m = (b & 0x7fffffu) | 0x800000u;
  const unsigned from = (b >> 23 & 0xffu) - 120u;
  const unsigned w = from >> 5;
  const unsigned s = from & 31u;
  const unsigned long long ab = (unsigned long long)two_over_pi[w] << 32 | two_over_pi[w + 1];
  const unsigned long long bc = (unsigned long long)two_over_pi[w + 1] << 32 | two_over_pi[w + 2];
  const unsigned long long cd = (unsigned long long)two_over_pi[w + 2] << 32 | two_over_pi[w + 3];
  const unsigned hi = (unsigned)(ab << s >> 32);
  const unsigned mid = (unsigned)(bc << s >> 32);
  const unsigned lo = (unsigned)(cd << s >> 32);
  const unsigned long long carried = (unsigned long long)m * lo >> 32;
  const unsigned long long low_part = (unsigned long long)m * mid + carried;
  const unsigned long long p = ((unsigned long long)(m * hi) << 32) + low_part;
  const unsigned long long quarter = (p + 0x2000000000000000ull) >> 62;
  const long long rest = (long long)(p - (quarter << 62));
  const float a = (float)rest;
  const float c = (float)(rest - (long long)a);
  const float sign = x < 0.0f ? -1.0f : 1.0f;
  const float h = __fmul_rn(a, 0x1.921fb6p-62f);
  const float l = fmaf(c, 0x1.921fb6p-62f, fmaf(a, -0x1.777a5cp-87f, fmaf(a, 0x1.921fb6p-62f,
      -h)));
  *q = x < 0.0f ? -(int)quarter : (int)quarter;
  *low = sign * l;
  return sign * h;
}
static __device__ __forceinline__ float ct_angle_f32(float x, int* q, float* low) {
  const float k = fmaf(x, 0x1.45f306p-1f, 0x1.8p23f);
  const float n = k - 0x1.8p23f;
  const float t = fmaf(n, -0x1.921fb6p0f, x);
  const float u = __fmul_rn(n, 0x1.777a5cp-25f);
  const float r = t + u;
  const float v = r - t;
  *q = __float_as_int(k);
  *low = t - (r - v) + (u - v) + fmaf(n, 0x1.ee59dap-50f, fmaf(n, 0x1.777a5cp-25f, -u));
  if (fabsf(x) < 0x1p17f) return r;
  return fabsf(x) <= 0x1.fffffep127f ? ct_angle_far_f32(x, q, low) : x - x;
}
static __device__ __forceinline__ float ct_sin_core_f32(float r, float low) {
  const float z = r * r;
  const float p = fmaf(z, fmaf(z, -0x1.995476p-13f, 0x1.11077ap-7f), -0x1.555546p-3f);
  return r + fmaf(z * r, p, low);
}
static __device__ __forceinline__ float ct_cos_core_f32(float r, float low) {
  const float z = r * r;
  const float p = fmaf(z, fmaf(z, 0x1.99e0e4p-16f, -0x1.6c0c1ap-10f), 0x1.55554ap-5f);
  const float w = fmaf(-0.5f, z, 1.0f);
  return w + (fmaf(-0.5f, z, 1.0f - w) + fmaf(z * z, p, -__fmul_rn(r, low)));
}
static __device__ __forceinline__ float ct_sin_f32(float x) {
  int q;
  float low;
  const float r = ct_angle_f32(x, &q, &low);
  const float y = (q & 1) != 0 ? ct_cos_core_f32(r, low) : ct_sin_core_f32(r, low);
  return x == 0.0f ? x : (q & 2) != 0 ? -y : y;
}
static __device__ __forceinline__ float ct_cos_f32(float x) {
  int q;
  float low;
  const float r = ct_angle_f32(x, &q, &low);
  const float y = (q & 1) != 0 ? ct_sin_core_f32(r, low) : ct_cos_core_f32(r, low);
  return (((unsigned)q + 1u) & 2u) != 0 ? -y : y;
}
static __device__ __forceinline__ float ct_tanh_f32(float x) {
  const float a = fabsf(x);
  const float t = ct_expm1_f32(a > 10.0f ? 20.0f : a + a);
  return copysignf(t / (t + 2.0f), x);
}
static __device__ __forceinline__ float ct_half_exp_f32(float a) {
  int n;
  const float t = ct_exp_core_f32(a > 100.0f ? 100.0f : a, &n);
  return ct_scale_f32(1.0f + t, n - 1);
}
static __device__ __forceinline__ float ct_sinh_f32(float x) {
  const float a = fabsf(x);
  const float z = a * a;
  float p = fmaf(z, 0x1.75a876p-19f, 0x1.a02152p-13f);
  p = fmaf(z, fmaf(z, p, 0x1.1110e2p-7f), 0x1.555556p-3f);
  const float h = ct_half_exp_f32(a);
  return copysignf(a < 1.0f ? fmaf(z * a, p, a) : h - 0.25f / h, x);
}
static __device__ __forceinline__ float ct_cosh_f32(float x) {
  const float h = ct_half_exp_f32(fabsf(x));
  return h + 0.25f / h;
}
static __device__ __forceinline__ float ct_asin_tail_f32(float s, float z) {
  float p = fmaf(z, 0x1.34a1fcp-5f, 0x1.d582a2p-7f);
  p = fmaf(z, p, 0x1.04cd54p-5f);
  p = fmaf(z, p, 0x1.6ca7d8p-5f);
  p = fmaf(z, p, 0x1.3338aap-4f);
  p = fmaf(z, p, 0x1.55554cp-3f);
  return s * z * p;
}
static __device__ __forceinline__ float ct_asin_f32(float x) {
  const float a = fabsf(x);
  const float z = a > 0.5f ? (1.0f - a) * 0.5f : a * a;
  const float s = a > 0.5f ? sqrtf(z) : a;
  const float t = s + ct_asin_tail_f32(s, z);
  return copysignf(a > 0.5f ? fmaf(-2.0f, t, 0x1.921fb6p0f) - 0x1.777a5cp-25f : t, x);
}
static __device__ __forceinline__ float ct_acos_f32(float x) {
  const float a = fabsf(x);
  const float z = a > 0.5f ? (1.0f - a) * 0.5f : a * a;
  const float s = a > 0.5f ? sqrtf(z) : x;
  const float t = ct_asin_tail_f32(s, z);
  const float d = s + t;
  const float far = x < 0.0f ? fmaf(-2.0f, d, 0x1.921fb6p1f) - 0x1.777a5cp-24f : d + d;
  return a > 0.5f ? far : 0x1.921fb6p0f - (s + (t + 0x1.777a5cp-25f));
}
static __device__ __forceinline__ float ct_atan_tail_f32(float t) {
  const float z = t * t;
  float p = fmaf(z, -0x1.dcc524p-10f, 0x1.69667cp-7f);
  p = fmaf(z, p, -0x1.012f58p-5f);
  p = fmaf(z, p, 0x1.dc98a2p-5f);
  p = fmaf(z, p, -0x1.58bd16p-4f);
  p = fmaf(z, p, 0x1.c0c8e8p-4f);
  p = fmaf(z, p, -0x1.24262ap-3f);
  p = fmaf(z, p, 0x1.999266p-3f);
  p = fmaf(z, p, -0x1.55554p-2f);
  return z * t * p;
}
static __device__ __forceinline__ float ct_atan_f32(float x) {
  const float a = fabsf(x);
  const float t = a > 1.0f ? 1.0f / a : a;
  const float l = ct_atan_tail_f32(t);
  return copysignf(a > 1.0f ? 0x1.921fb6p0f - (t + (l + 0x1.777a5cp-25f)) : t + l, x);
}
static __device__ __forceinline__ float ct_erf_tail_f32(float z) {
  float p = fmaf(z, 0x1.4776b4p-14f, -0x1.a352d8p-11f);
  p = fmaf(z, p, 0x1.53f24ep-8f);
  p = fmaf(z, p, -0x1.b7f71ep-6f);
  p = fmaf(z, p, 0x1.ce2ce6p-4f);
  p = fmaf(z, p, -0x1.81273ep-2f);
  return fmaf(z, p, 0x1.06eba8p-3f);
}
static __device__ __forceinline__ float ct_erf_f32(float x) {
  const float a = fabsf(x);
  const float b = a > 4.0f ? 4.0f : a;
  float p = fmaf(b, 0x1.856acp-13f, -0x1.8174c4p-9f);
  p = fmaf(b, p, 0x1.65572ap-6f);
  p = fmaf(b, p, -0x1.a6160cp-4f);
  p = fmaf(b, p, -0x1.46c3c8p-1f);
  p = fmaf(b, p, -0x1.20863ep0f);
  p = fmaf(b, p, -0x1.70a88p-12f);
  const float far = 1.0f - ct_exp_f32(p);
  const float near = fmaf(a, ct_erf_tail_f32(a * a), a);
  return copysignf(a < 1.0f ? near : far, x);
}
static __device__ __forceinline__ float ct_erfc_f32(float x) {
  const float a = fabsf(x);
  const float b = a > 11.0f ? 11.0f : a;
  const float t = (b - 2.0f) / (b + 2.0f);
  float p = fmaf(t, 0x1.c4eb5p-13f, -0x1.6d27f4p-10f);
  p = fmaf(t, p, 0x1.8e39bap-11f);
  p = fmaf(t, p, 0x1.1e9c4cp-7f);
  p = fmaf(t, p, -0x1.02947p-7f);
  p = fmaf(t, p, -0x1.bc3fb8p-5f);
  p = fmaf(t, p, 0x1.4ff222p-3f);
  p = fmaf(t, p, -0x1.540758p-3f);
  p = fmaf(t, p, -0x1.7bf574p-4f);
  p = fmaf(t, p, 0x1.46e80ep0f);
  const float s = __fmul_rn(b, b);
  const float l = fmaf(b, b, -s);
  int n;
  const float e = ct_exp_core_f32(-s, &n);
  const float d = fmaf(2.0f, b, 1.0f);
  const float g = p / d;
  const float fix = fmaf(-l, g, fmaf(-g, d, p) / d);
  const float far = ct_scale_f32(g + fmaf(e, g, fmaf(e, fix, fix)), n);
  const float near = 1.0f - fmaf(x, ct_erf_tail_f32(x * x), x);
  return a < 0.5f ? near : x < 0.0f ? 2.0f - far : far;
}
static __device__ __forceinline__ float ct_cbrt_f32(float x) {
  const float a = fabsf(x);
  const bool is_small = a < 0x1p-100f;
  const float b = is_small ? a * 0x1p48f : a;
  float r = __int_as_float((int)(0x54a21d2au - (unsigned)__float_as_int(b) / 3u));
  float c = b * r;
  r = fmaf(r * 0x1.555556p-2f, fmaf(-c, r * r, 1.0f), r);
  c = b * r;
  r = fmaf(r * 0x1.555556p-2f, fmaf(-c, r * r, 1.0f), r);
  c = b * r;
  r = fmaf(r * 0x1.555556p-2f, fmaf(-c, r * r, 1.0f), r);
  const float y = b * r * r;
  const float h = __fmul_rn(y, y);
  const float l = fmaf(y, y, -h);
  const float rest = fmaf(-l, y, fmaf(-h, y, b));
  const float z = fmaf(rest * 0x1.555556p-2f, r * r, y);
  const float w = is_small ? z * 0x1p-16f : z;
  return ((x == 0.0f) | !(a <= 0x1.fffffep127f)) ? x + x : copysignf(w, x);
}
static __device__ __forceinline__ float ct_log2_two_f32(float a, float* low) {
  float e;
  const float f = ct_log_split_f32(a, &e);
  const float d = 2.0f + f;
  const float s = f / d;
  const float sl = fmaf(-s, f - (d - 2.0f), fmaf(-s, d, f)) / d;
  const float z = __fmul_rn(s, s);
  const float zl = fmaf(s + s, sl, fmaf(s, s, -z));
  const float q = fmaf(z, fmaf(z, 0x1.dfa29cp-3f, 0x1.24527cp-2f), 0x1.999ap-2f);
  const float u = __fmul_rn(z, 0x1.555556p-1f);
  const float t = fmaf(z, -0x1.555556p-26f, fmaf(z, 0x1.555556p-1f, -u));
  const float ul = fmaf(z * z, q, fmaf(zl, 0x1.555556p-1f, t));
  const float g = 2.0f + u;
  const float gl = 2.0f - g + u + ul;
  const float p = __fmul_rn(s, g);
  const float pl = fmaf(sl, g, fmaf(s, gl, fmaf(s, g, -p)));
  const float h = __fmul_rn(p, 0x1.715476p0f);
  const float hl = fmaf(pl, 0x1.715476p0f, fmaf(p, 0x1.4ae0cp-26f, fmaf(p, 0x1.715476p0f, -h)));
  const float r = e + h;
  const float rest = e - r + h + hl;
  const float sum = r + rest;
  *low = r - sum + rest;
  return sum;
}
static __device__ __forceinline__ float ct_pow_f32(float x, float y) {
  const float a = fabsf(x);
  float low;
  const float l = ct_log2_two_f32(a, &low);
  const float inf = __int_as_float(0x7f800000);
  const bool is_end = (a == 0.0f) | (a == inf);
  const float h = is_end ? a == 0.0f ? -inf : inf : l;
  float w = __fmul_rn(y, h);
  float wl = fmaf(y, low, fmaf(y, h, -w));
  const bool is_far = !(fabsf(w) < 200.0f);
  w = w > 200.0f ? 200.0f : w;
  w = w < -200.0f ? -200.0f : w;
  wl = is_far ? 0.0f : wl;
  const float k = w + 0x1.8p23f;
  const float r = w - (k - 0x1.8p23f) + wl;
  float p = fmaf(r, 0x1.e1d8fap-17f, 0x1.440df4p-13f);
  p = fmaf(r, p, 0x1.5da49ep-10f);
  p = fmaf(r, p, 0x1.3b2a5cp-7f);
  p = fmaf(r, p, 0x1.c6b06ep-5f);
  p = fmaf(r, p, 0x1.ebfbep-3f);
  p = fmaf(r, p, 0x1.62e43p-1f);
  p = ct_scale_f32(fmaf(r, p, 1.0f), (int)(short)__float_as_int(k));
  const bool is_whole = truncf(y) == y;
  const bool is_odd = is_whole & (truncf(0.5f * y) != 0.5f * y);
  const float size = ((x != x) | (y != y)) ? x + y : a == 1.0f ? 1.0f : p;
  const float result = ((x < 0.0f) & !is_whole & (a < inf)) ? __int_as_float(0x7fffffff) : size;
  const float signed_result = (is_odd & (__float_as_int(x) < 0)) ? -result : result;
  return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : signed_result;
}
static __device__ __forceinline__ float ct_rsqrt_f32(float x) {
  return __frsqrt_rn(x);
}
static __device__ __forceinline__ double ct_scale_f64(double p, int n) {
  const int half = n >> 1;
  const double a = __longlong_as_double((long long)((unsigned long long)(half + 1023) << 52));
  const double b = __longlong_as_double((long long)((unsigned long long)(n - half + 1023) << 52));
  return p * a * b;
}
static __device__ __forceinline__ double ct_exp_core_f64(double x, double low, int* n) {
  const double k = fma(x, 0x1.71547652b82fep0, 0x1.8p52);
  const double m = k - 0x1.8p52;
  const double r = fma(m, -0x1.abc9e3b39803fp-56, fma(m, -0x1.62e42fefa39efp-1, x)) + low;
  double p = fma(r, 0x1.1fc01e57bcc16p-29, 0x1.af4dbba8dda26p-26);
  p = fma(r, p, 0x1.27e4a5e5c5d27p-22);
  p = fma(r, p, 0x1.71de011e0d682p-19);
  p = fma(r, p, 0x1.a01a01c1d446p-16);
  p = fma(r, p, 0x1.a01a01acdaf49p-13);
  p = fma(r, p, 0x1.6c16c16c10716p-10);
  p = fma(r, p, 0x1.111111110fcfap-7);
  p = fma(r, p, 0x1.5555555555563p-5);
  p = fma(r, p, 0x1.5555555555558p-3);
  p = fma(r, p, 0x1p-1);
  *n = (int)(short)__double_as_longlong(k);
  return fma(r * r, p, r);
}
static __device__ __forceinline__ double ct_exp_f64(double x) {
  int n;
  x = x > 800.0 ? 800.0 : x;
  x = x < -800.0 ? -800.0 : x;
  const double t = ct_exp_core_f64(x, 0.0, &n);
  return ct_scale_f64(1.0 + t, n);
}
static __device__ __forceinline__ double ct_exp2_f64(double x) {
  x = x > 1100.0 ? 1100.0 : x;
  x = x < -1200.0 ? -1200.0 : x;
  const double k = x + 0x1.8p52;
  const double r = x - (k - 0x1.8p52);
  double p = fma(r, 0x1.f88e5c7bb0e05p-35, 0x1.ed15595ec643fp-32);
  p = fma(r, p, 0x1.e336424f0527ep-28);
  p = fma(r, p, 0x1.b522c603d744cp-24);
  p = fma(r, p, 0x1.62c091dfba738p-20);
  p = fma(r, p, 0x1.ffcbfd7b82268p-17);
  p = fma(r, p, 0x1.430912dcca4d4p-13);
  p = fma(r, p, 0x1.5d87fe786abefp-10);
  p = fma(r, p, 0x1.3b2ab6fbaadd3p-7);
  p = fma(r, p, 0x1.c6b08d704a1fbp-5);
  p = fma(r, p, 0x1.ebfbdff82c574p-3);
  p = fma(r, p, 0x1.62e42fefa39efp-1);
  return ct_scale_f64(fma(r, p, 1.0), (int)(short)__double_as_longlong(k));
}
static __device__ __forceinline__ double ct_expm1_f64(double x) {
  int n;
  double y = x > 710.0 ? 710.0 : x;
  y = y < -50.0 ? -50.0 : y;
  const double t = ct_exp_core_f64(y, 0.0, &n);
  const double m = __longlong_as_double((long long)((unsigned long long)(n + 1022) << 52));
  const double r = 2.0 * fma(t, m, m - 0.5);
  return fabs(x) < 0x1p-54 ? x : r;
}
static __device__ __forceinline__ double ct_log1p_tail_f64(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = fma(z, 0x1.2f0fc990577a5p-3, 0x1.39a0b8c0b6d63p-3);
  p = fma(z, p, 0x1.746648abdad9fp-3);
  p = fma(z, p, 0x1.c71c51dae574cp-3);
  p = fma(z, p, 0x1.2492494228db7p-2);
  p = fma(z, p, 0x1.999999997f9edp-2);
  p = fma(z, p, 0x1.5555555555593p-1);
  const double h = 0.5 * f * f;
  return fma(s, fma(z, p, h), -h);
}
static __device__ __forceinline__ double ct_log_split_f64(double x, double* e) {
  const bool is_small = x < 0x1p-1022;
  const unsigned long long b = (unsigned long long)__double_as_longlong(is_small ? x * 0x1p54 : x);
  const int k = (int)((long long)(b - 0x3fe6a09e667f3bcdull) >> 52);
  *e = (double)(is_small ? k - 54 : k);
  return __longlong_as_double((long long)(b - ((unsigned long long)k << 52))) - 1.0;
}
static __device__ __forceinline__ double ct_log_special_f64(double x, double y) {
  const double other = x < 0.0 ? __longlong_as_double(0x7fffffffffffffffLL) : x + x;
  const double low = -__longlong_as_double(0x7ff0000000000000LL);
  return ((x > 0.0) & (x <= 0x1.fffffffffffffp1023)) ? y : x == 0.0 ? low : other;
}
static __device__ __forceinline__ double ct_log_f64(double x) {
  double e;
  const double f = ct_log_split_f64(x, &e);
  const double q = ct_log1p_tail_f64(f);
  const double y = fma(e, 0x1.62e42fefa39efp-1, f + fma(e, 0x1.abc9e3b39803fp-56, q));
  return ct_log_special_f64(x, y);
}
static __device__ __forceinline__ double ct_log2_f64(double x) {
  double e;
  const double f = ct_log_split_f64(x, &e);
  const double q = ct_log1p_tail_f64(f);
  const double h = __dmul_rn(f, 0x1.71547652b82fep0);
  const double t = fma(f, 0x1.777d0ffda0d24p-56, fma(f, 0x1.71547652b82fep0, -h));
  const double l = fma(q, 0x1.71547652b82fep0, t);
  const double s = e + h;
  return ct_log_special_f64(x, s + (e - s + h + l));
}
static __device__ __forceinline__ double ct_log10_f64(double x) {
  double e;
  const double f = ct_log_split_f64(x, &e);
  const double q = ct_log1p_tail_f64(f);
  const double h = __dmul_rn(f, 0x1.bcb7b1526e50ep-2);
  const double t = fma(f, 0x1.95355baaafad3p-57, fma(f, 0x1.bcb7b1526e50ep-2, -h));
  const double l = fma(e, -0x1.80433b83b532ap-44, fma(q, 0x1.bcb7b1526e50ep-2, t));
  const double g = __dmul_rn(e, 0x1.34413509f8p-2);
  const double s = g + h;
  return ct_log_special_f64(x, s + (g - s + h + l));
}
static __device__ __forceinline__ double ct_log1p_f64(double x) {
  const double y = 1.0 + x;
  const unsigned long long b = (unsigned long long)__double_as_longlong(y);
  const int k = (int)((long long)(b - 0x3fe6a09e667f3bcdull) >> 52);
  const double s = __longlong_as_double((long long)((unsigned long long)(1025 - k) << 52));
  const double f = k == 0 ? x : fma(0.25 * x, s, fma(0.25, s, -1.0));
  const double e = (double)k;
  const double q = ct_log1p_tail_f64(f);
  const double r = fma(e, 0x1.62e42fefa39efp-1, f + fma(e, 0x1.abc9e3b39803fp-56, q));
  return fabs(x) < 0x1p-54 ? x : ct_log_special_f64(y, r);
}
static __device__ __forceinline__ double ct_angle_far_f64(double x, int* q, double* low) {
  static const unsigned long long two_over_pi[21] =
      { 0ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull,
      0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull,
      0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
      0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
      0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull,
      0x56033046fc7b6babull, 0xf0cfbc209af4361dull};
  const unsigned long long b = (unsigned long long)__double_as_longlong(x);
  const unsigned long long m = (b & 0xfffffffffffffull) | 0x10000000000000ull;
  const unsigned from = (unsigned)(b >> 52 & 0x7ffu) - 1013u;
  const unsigned w = from >> 6;
  const unsigned s = from & 63u;
  const unsigned t = 63u - s;
  const unsigned long long hi = two_over_pi[w] << s | two_over_pi[w + 1] >> 1 >> t;
  const unsigned long long mid = two_over_pi[w + 1] << s | two_over_pi[w + 2] >> 1 >> t;
  const unsigned long long lo = two_over_pi[w + 2] << s | two_over_pi[w + 3] >> 1 >> t;
  const unsigned long long carried = __umul64hi(m, lo);
  const unsigned long long p1 = m * mid + carried;
  const unsigned long long p0 = m * hi + __umul64hi(m, mid) + (p1 < carried ? 1u : 0u);
  const unsigned long long quarter = (p0 + 0x2000000000000000ull) >> 62;
  const long long rest = (long long)(p0 - (quarter << 62));
  const double a = (double)rest;
  const double c = fma((double)p1, 0x1p-64, (double)(rest - (long long)a));
  const double u = a + c;
  const double v = c - (u - a);
  const double sign = x < 0.0 ? -1.0 : 1.0;
  const double h = __dmul_rn(u, 0x1.921fb54442d18p-62);
  const double l = fma(u, 0x1.1a62633145c07p-116, fma(u, 0x1.921fb54442d18p-62, -h));
  *q = x < 0.0 ? -(int)quarter : (int)quarter;
  *low = sign * fma(v, 0x1.921fb54442d18p-62, l);
  return sign * h;
}
static __device__ __forceinline__ double ct_angle_f64(double x, int* q, double* low) {
  const double k = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
  const double n = k - 0x1.8p52;
  const double t = fma(n, -0x1.921fb54442d18p0, x);
  const double u = __dmul_rn(n, -0x1.1a62633145c07p-54);
  const double r = t + u;
  const double v = r - t;
  const double l = fma(n, 0x1.f1976b7ed8fbcp-110, fma(n, -0x1.1a62633145c07p-54, -u));
  *q = (int)(short)__double_as_longlong(k);
  *low = t - (r - v) + (u - v) + l;
  if (fabs(x) < 0x1p24) return r;
  return fabs(x) <= 0x1.fffffffffffffp1023 ? ct_angle_far_f64(x, q, low) : x - x;
}
static __device__ __forceinline__ double ct_sin_core_f64(double r, double low) {
  const double z = r * r;
  double p = fma(z, 0x1.5d925c7b11323p-33, -0x1.ae5e64aeee395p-26);
  p = fma(z, p, 0x1.71de3576d23ddp-19);
  p = fma(z, p, -0x1.a01a019c123d2p-13);
  p = fma(z, p, 0x1.111111110f893p-7);
  p = fma(z, p, -0x1.5555555555549p-3);
  return r + fma(z * r, p, low);
}
static __device__ __forceinline__ double ct_cos_core_f64(double r, double low) {
  const double z = r * r;
  double p = fma(z, -0x1.8fb016a095652p-37, 0x1.1ee9ef7b619c2p-29);
  p = fma(z, p, -0x1.27e4f8107f3fep-22);
  p = fma(z, p, 0x1.a01a019cbd204p-16);
  p = fma(z, p, -0x1.6c16c16c15212p-10);
  p = fma(z, p, 0x1.555555555554cp-5);
  const double w = fma(-0.5, z, 1.0);
  return w + (fma(-0.5, z, 1.0 - w) + fma(z * z, p, -__dmul_rn(r, low)));
}
static __device__ __forceinline__ double ct_sin_f64(double x) {
  int q;
  double low;
  const double r = ct_angle_f64(x, &q, &low);
  const double y = (q & 1) != 0 ? ct_cos_core_f64(r, low) : ct_sin_core_f64(r, low);
  return x == 0.0 ? x : (q & 2) != 0 ? -y : y;
}
static __device__ __forceinline__ double ct_cos_f64(double x) {
  int q;
  double low;
  const double r = ct_angle_f64(x, &q, &low);
  const double y = (q & 1) != 0 ? ct_sin_core_f64(r, low) : ct_cos_core_f64(r, low);
  return (((unsigned)q + 1u) & 2u) != 0 ? -y : y;
}
static __device__ __forceinline__ double ct_tanh_f64(double x) {
  const double a = fabs(x);
  const double t = ct_expm1_f64(a > 20.0 ? 40.0 : a + a);
  return copysign(t / (t + 2.0), x);
}
static __device__ __forceinline__ double ct_half_exp_f64(double a) {
  int n;
  const double t = ct_exp_core_f64(a > 800.0 ? 800.0 : a, 0.0, &n);
  return ct_scale_f64(1.0 + t, n - 1);
}
static __device__ __forceinline__ double ct_sinh_f64(double x) {
  const double a = fabs(x);
  const double z = a * a;
  double p = fma(z, 0x1.b5bb7c1978546p-41, 0x1.61171cde0517bp-33);
  p = fma(z, p, 0x1.ae646f9805136p-26);
  p = fma(z, p, 0x1.71de3a3b6a36cp-19);
  p = fma(z, p, 0x1.a01a01a036c6ap-13);
  p = fma(z, p, 0x1.111111111102p-7);
  p = fma(z, p, 0x1.5555555555556p-3);
  const double h = ct_half_exp_f64(a);
  return copysign(a < 1.0 ? fma(z * a, p, a) : h - 0.25 / h, x);
}
static __device__ __forceinline__ double ct_cosh_f64(double x) {
  const double h = ct_half_exp_f64(fabs(x));
  return h + 0.25 / h;
}
static __device__ __forceinline__ double ct_asin_tail_f64(double s, double z) {
  double p = fma(z, 0x1.0be3dc9147625p-5, -0x1.59f4d9dc07308p-6);
  p = fma(z, p, 0x1.6500dfbf81893p-6);
  p = fma(z, p, 0x1.e15ed4f41054cp-9);
  p = fma(z, p, 0x1.618a807e4842dp-7);
  p = fma(z, p, 0x1.75779716ec982p-7);
  p = fma(z, p, 0x1.ca21431f0be74p-7);
  p = fma(z, p, 0x1.1c49de0db271cp-6);
  p = fma(z, p, 0x1.6e8bdfe5ee804p-6);
  p = fma(z, p, 0x1.f1c71a8ba2954p-6);
  p = fma(z, p, 0x1.6db6db722b557p-5);
  p = fma(z, p, 0x1.333333332df17p-4);
  p = fma(z, p, 0x1.5555555555578p-3);
  return s * z * p;
}
static __device__ __forceinline__ double ct_asin_f64(double x) {
  const double a = fabs(x);
  const double z = a > 0.5 ? (1.0 - a) * 0.5 : a * a;
  const double s = a > 0.5 ? sqrt(z) : a;
  const double t = s + ct_asin_tail_f64(s, z);
  const double far = fma(-2.0, t, 0x1.921fb54442d18p0) + 0x1.1a62633145c07p-54;
  return copysign(a > 0.5 ? far : t, x);
}
static __device__ __forceinline__ double ct_acos_f64(double x) {
  const double a = fabs(x);
  const double z = a > 0.5 ? (1.0 - a) * 0.5 : a * a;
  const double s = a > 0.5 ? sqrt(z) : x;
  const double t = ct_asin_tail_f64(s, z);
  const double d = s + t;
  const double left = fma(-2.0, d, 0x1.921fb54442d18p1) + 0x1.1a62633145c07p-53;
  const double far = x < 0.0 ? left : d + d;
  return a > 0.5 ? far : 0x1.921fb54442d18p0 - (s + (t - 0x1.1a62633145c07p-54));
}
static __device__ __forceinline__ double ct_atan_tail_f64(double t) {
  const double z = t * t;
  double p = fma(z, 0x1.c48e48ffb7216p-17, -0x1.4497de3cc4379p-13);
  p = fma(z, p, 0x1.ba2ffb8b33f0cp-11);
  p = fma(z, p, -0x1.7e9e380f8217ep-9);
  p = fma(z, p, 0x1.dbfd62952c64bp-8);
  p = fma(z, p, -0x1.ca93414a7defap-7);
  p = fma(z, p, 0x1.69d68b6123544p-6);
  p = fma(z, p, -0x1.eb47e7e9cc79p-6);
  p = fma(z, p, 0x1.2c97ce0f37711p-5);
  p = fma(z, p, -0x1.59d7d9cf4ef9cp-5);
  p = fma(z, p, 0x1.82eeab19fa7c6p-5);
  p = fma(z, p, -0x1.ae644d8ea8672p-5);
  p = fma(z, p, 0x1.e1bcf81a474cfp-5);
  p = fma(z, p, -0x1.110e6da15902fp-4);
  p = fma(z, p, 0x1.3b136a199a5dbp-4);
  p = fma(z, p, -0x1.745d11fb64841p-4);
  p = fma(z, p, 0x1.c71c71842a8d5p-4);
  p = fma(z, p, -0x1.249249239244bp-3);
  p = fma(z, p, 0x1.9999999995aebp-3);
  p = fma(z, p, -0x1.555555555552ap-2);
  return z * t * p;
}
static __device__ __forceinline__ double ct_atan_f64(double x) {
  const double a = fabs(x);
  const double t = a > 1.0 ? 1.0 / a : a;
  const double l = ct_atan_tail_f64(t);
  const double far = 0x1.921fb54442d18p0 - (t + (l - 0x1.1a62633145c07p-54));
  return copysign(a > 1.0 ? far : t + l, x);
}
static __device__ __forceinline__ double ct_erf_tail_f64(double z) {
  double p = fma(z, 0x1.3b88629a23ecfp-33, -0x1.c4a837c05364bp-30);
  p = fma(z, p, 0x1.131dd88308db3p-26);
  p = fma(z, p, -0x1.639045233a4a9p-23);
  p = fma(z, p, 0x1.ba690667522b1p-20);
  p = fma(z, p, -0x1.f4dcf059f86f7p-17);
  p = fma(z, p, 0x1.f9a3b947e54f6p-14);
  p = fma(z, p, -0x1.c02db932cc9ecp-11);
  p = fma(z, p, 0x1.565bcd2c61c04p-8);
  p = fma(z, p, -0x1.b82ce31354c9ap-6);
  p = fma(z, p, 0x1.ce2f21a0458d7p-4);
  p = fma(z, p, -0x1.812746b037a25p-2);
  p = fma(z, p, 0x1.06eba8214db69p-3);
  return p;
}
static __device__ __forceinline__ double ct_erf_f64(double x) {
  const double a = fabs(x);
  const double b = a > 6.0 ? 6.0 : a;
  double p = fma(b, 0x1.2534c98de1138p-40, -0x1.a2f114eb5f3d5p-35);
  p = fma(b, p, 0x1.182a43bfe7d98p-30);
  p = fma(b, p, -0x1.d1893bea4e19p-27);
  p = fma(b, p, 0x1.0c8e4a538a538p-23);
  p = fma(b, p, -0x1.c682f20aacaf3p-21);
  p = fma(b, p, 0x1.212235853ffp-18);
  p = fma(b, p, -0x1.13eb630979147p-16);
  p = fma(b, p, 0x1.7829449c2d843p-15);
  p = fma(b, p, -0x1.2542321a4b815p-14);
  p = fma(b, p, -0x1.7ee261e12a2b2p-15);
  p = fma(b, p, 0x1.50c96965f8a0dp-11);
  p = fma(b, p, -0x1.d0183c4b9709cp-10);
  p = fma(b, p, 0x1.276a262705dd5p-12);
  p = fma(b, p, 0x1.389003fb8aa5ap-6);
  p = fma(b, p, -0x1.a4d9da36ec71ep-4);
  p = fma(b, p, -0x1.45f43062edfc8p-1);
  p = fma(b, p, -0x1.20dd55a2bda8ep0);
  p = fma(b, p, -0x1.88ccf0e0068dcp-23);
  const double far = 1.0 - ct_exp_f64(p);
  const double near = fma(a, ct_erf_tail_f64(a * a), a);
  return copysign(a < 1.0 ? near : far, x);
}
static __device__ __forceinline__ double ct_erfc_f64(double x) {
  const double a = fabs(x);
  const double b = a > 28.0 ? 28.0 : a;
  const double t = (b - 4.0) / (b + 4.0);
  double p = fma(t, 0x1.aa4915ff66523p-26, -0x1.9a21028665089p-31);
  p = fma(t, p, -0x1.0b343d9ce6634p-32);
  p = fma(t, p, 0x1.31c1e254503bep-25);
  p = fma(t, p, -0x1.705453393b4ecp-21);
  p = fma(t, p, 0x1.68d24304144f4p-22);
  p = fma(t, p, 0x1.787b90edca328p-18);
  p = fma(t, p, -0x1.796c84f7ef187p-17);
  p = fma(t, p, -0x1.989ce1105b87ep-16);
  p = fma(t, p, 0x1.3be5add832329p-13);
  p = fma(t, p, -0x1.a1e5bac049c46p-13);
  p = fma(t, p, -0x1.8d4aeb281d61ep-11);
  p = fma(t, p, 0x1.49c67bc8741cfp-8);
  p = fma(t, p, -0x1.09623828b152ap-6);
  p = fma(t, p, 0x1.3079edd71c444p-5);
  p = fma(t, p, -0x1.0fb06e002ab1fp-4);
  p = fma(t, p, 0x1.7fee004efd126p-4);
  p = fma(t, p, -0x1.9ddb23c3d53d4p-4);
  p = fma(t, p, 0x1.16ecefcf9eec1p-4);
  p = fma(t, p, 0x1.f7f5df66faf88p-7);
  p = fma(t, p, -0x1.1df1ad154a228p-3);
  p = fma(t, p, 0x1.3ba5916e9fd7fp0);
  const double s = __dmul_rn(b, b);
  int n;
  const double e = ct_exp_core_f64(-s, -fma(b, b, -s), &n);
  const double d = fma(2.0, b, 1.0);
  const double g = p / d;
  const double fix = fma(-g, d, p) / d;
  const double far = ct_scale_f64(g + fma(e, g, fma(e, fix, fix)), n);
  const double near = 1.0 - fma(x, ct_erf_tail_f64(x * x), x);
  return a < 0.5 ? near : x < 0.0 ? 2.0 - far : far;
}
static __device__ __forceinline__ double ct_cbrt_f64(double x) {
  const double a = fabs(x);
  const bool is_small = a < 0x1p-900;
  const double b = is_small ? a * 0x1p300 : a;
  const unsigned third = (unsigned)(__double_as_longlong(b) >> 32) / 3u;
  double r = __longlong_as_double((long long)((unsigned long long)(0x553ef0ffu - third) << 32));
  double c = b * r;
  r = fma(r * 0x1.5555555555555p-2, fma(-c, r * r, 1.0), r);
  c = b * r;
  r = fma(r * 0x1.5555555555555p-2, fma(-c, r * r, 1.0), r);
  c = b * r;
  r = fma(r * 0x1.5555555555555p-2, fma(-c, r * r, 1.0), r);
  c = b * r;
  r = fma(r * 0x1.5555555555555p-2, fma(-c, r * r, 1.0), r);
  const double y = b * r * r;
  const double h = __dmul_rn(y, y);
  const double l = fma(y, y, -h);
  const double rest = fma(-l, y, fma(-h, y, b));
  const double z = fma(rest * 0x1.5555555555555p-2, r * r, y);
  const double w = is_small ? z * 0x1p-100 : z;
  return ((x == 0.0) | !(a <= 0x1.fffffffffffffp1023)) ? x + x : copysign(w, x);
}
static __device__ __forceinline__ double ct_log2_two_f64(double a, double* low) {
  double e;
  const double f = ct_log_split_f64(a, &e);
  const double d = 2.0 + f;
  const double s = f / d;
  const double sl = fma(-s, f - (d - 2.0), fma(-s, d, f)) / d;
  const double z = __dmul_rn(s, s);
  const double zl = fma(s + s, sl, fma(s, s, -z));
  double p = fma(z, 0x1.ead1ada91b93p-4, 0x1.de3c1605c8114p-4);
  p = fma(z, p, 0x1.1120771aa7fc1p-3);
  p = fma(z, p, 0x1.3b136499aa9ep-3);
  p = fma(z, p, 0x1.745d1829f0648p-3);
  p = fma(z, p, 0x1.c71c71c595945p-3);
  p = fma(z, p, 0x1.2492492492f56p-2);
  p = fma(z, p, 0x1.9999999999996p-2);
  const double u = __dmul_rn(z, 0x1.5555555555555p-1);
  const double t = fma(z, 0x1.5555555555555p-55, fma(z, 0x1.5555555555555p-1, -u));
  const double ul = fma(z * z, p, fma(zl, 0x1.5555555555555p-1, t));
  const double g = 2.0 + u;
  const double gl = 2.0 - g + u + ul;
  const double w = __dmul_rn(s, g);
  const double wl = fma(sl, g, fma(s, gl, fma(s, g, -w)));
  const double h = __dmul_rn(w, 0x1.71547652b82fep0);
  const double hl = fma(w, 0x1.777d0ffda0d24p-56, fma(w, 0x1.71547652b82fep0, -h));
  const double r = e + h;
  const double rest = e - r + h + fma(wl, 0x1.71547652b82fep0, hl);
  const double sum = r + rest;
  *low = r - sum + rest;
  return sum;
}
static __device__ __forceinline__ double ct_pow_f64(double x, double y) {
  const double a = fabs(x);
  double low;
  const double l = ct_log2_two_f64(a, &low);
  const double inf = __longlong_as_double(0x7ff0000000000000LL);
  const bool is_end = (a == 0.0) | (a == inf);
  const double h = is_end ? a == 0.0 ? -inf : inf : l;
  double w = __dmul_rn(y, h);
  double wl = fma(y, low, fma(y, h, -w));
  const bool is_far = !(fabs(w) < 1200.0);
  w = w > 1200.0 ? 1200.0 : w;
  w = w < -1200.0 ? -1200.0 : w;
  wl = is_far ? 0.0 : wl;
  const double k = w + 0x1.8p52;
  const double v = w - (k - 0x1.8p52);
  const double r = v + wl;
  const double rl = v - r + wl;
  double p = fma(r, 0x1.f88e5c7bb0e05p-35, 0x1.ed15595ec643fp-32);
  p = fma(r, p, 0x1.e336424f0527ep-28);
  p = fma(r, p, 0x1.b522c603d744cp-24);
  p = fma(r, p, 0x1.62c091dfba738p-20);
  p = fma(r, p, 0x1.ffcbfd7b82268p-17);
  p = fma(r, p, 0x1.430912dcca4d4p-13);
  p = fma(r, p, 0x1.5d87fe786abefp-10);
  p = fma(r, p, 0x1.3b2ab6fbaadd3p-7);
  p = fma(r, p, 0x1.c6b08d704a1fbp-5);
  p = fma(r, p, 0x1.ebfbdff82c574p-3);
  p = fma(r, p, 0x1.62e42fefa39efp-1);
  p = 1.0 + fma(r, p, 0x1.62e42fefa39efp-1 * rl);
  p = ct_scale_f64(p, (int)(short)__double_as_longlong(k));
  const bool is_whole = trunc(y) == y;
  const bool is_odd = is_whole & (trunc(0.5 * y) != 0.5 * y);
  const double size = ((x != x) | (y != y)) ? x + y : a == 1.0 ? 1.0 : p;
  const double nan = __longlong_as_double(0x7fffffffffffffffLL);
  const double result = ((x < 0.0) & !is_whole & (a < inf)) ? nan : size;
  const double signed_result = (is_odd & (__double_as_longlong(x) < 0)) ? -result : result;
  return ((y == 0.0) | (x == 1.0)) ? 1.0 : signed_result;
}
static __device__ __forceinline__ double ct_rsqrt_f64(double x) {
  return 1.0 / sqrt(x);
}
static __device__ __forceinline__ int to_int(double x) { return x != x ? 0 : __double2int_rz(x); }
static __device__ __forceinline__ long long to_long_long(float x) {
    return x != x ? 0 : __float2ll_rz(x); }
static __device__ __forceinline__ long long to_long_long(double x) {
    return x != x ? 0 : __double2ll_rz(x); }

extern "C" __global__ void __launch_bounds__(1)
floats(float* __restrict__ out, double* __restrict__ wide, int* __restrict__ ints,
    long long* __restrict__ longs, bool* __restrict__ flags, float a, double x, float b, double y,
    int i, long long l) {  // floats.lua:1
  out[0] = a + b;  // floats.lua:2
  out[1] = a - b;  // floats.lua:3
  out[2] = a * b;  // floats.lua:4
  out[3] = a / b;  // floats.lua:5
  out[4] = floorf(a / b);  // floats.lua:6
  out[5] = ct_pow_f32(a, b);  // floats.lua:7
  out[6] = fminf(a, b);  // floats.lua:8
  out[7] = floormod(a, b);  // floats.lua:9
  out[8] = fmaxf(a, b);  // floats.lua:10
  out[9] = -a;  // floats.lua:11
  out[10] = fabsf(a);  // floats.lua:12
  out[11] = sqrtf(a);  // floats.lua:13
  out[12] = ct_rsqrt_f32(a);  // floats.lua:14
  out[13] = ct_exp_f32(a);  // floats.lua:15
  out[14] = ct_exp2_f32(a);  // floats.lua:16
  out[15] = ct_log_f32(a);  // floats.lua:17
  out[16] = ct_log2_f32(a);  // floats.lua:18
  out[17] = ct_sin_f32(a);  // floats.lua:19
  out[18] = ct_cos_f32(a);  // floats.lua:20
  out[19] = ct_tanh_f32(a);  // floats.lua:21
  out[20] = ct_erf_f32(a);  // floats.lua:22
  out[21] = ct_erfc_f32(a);  // floats.lua:23
  out[22] = ct_expm1_f32(a);  // floats.lua:24
  out[23] = ct_log1p_f32(a);  // floats.lua:25
  out[24] = ct_log10_f32(a);  // floats.lua:26
  out[25] = ct_cbrt_f32(a);  // floats.lua:27
  out[26] = ct_sinh_f32(a);  // floats.lua:28
  out[27] = ct_cosh_f32(a);  // floats.lua:29
  out[28] = ct_asin_f32(a);  // floats.lua:30
  out[29] = ct_acos_f32(a);  // floats.lua:31
  out[30] = ct_atan_f32(a);  // floats.lua:32
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
  const bool holds = a != 0.0f;
  flags[0] = holds;
  flags[2] = !(a < b);
  wide[0] = x + y;  // floats.lua:2
  wide[1] = x - y;  // floats.lua:3
  wide[2] = x * y;  // floats.lua:4
  wide[3] = x / y;  // floats.lua:5
  wide[4] = floor(x / y);  // floats.lua:6
  wide[5] = ct_pow_f64(x, y);  // floats.lua:7
  wide[6] = fmin(x, y);  // floats.lua:8
  wide[7] = floormod(x, y);  // floats.lua:9
  wide[8] = fmax(x, y);  // floats.lua:10
  wide[9] = -x;  // floats.lua:11
  wide[10] = fabs(x);  // floats.lua:12
  wide[11] = sqrt(x);  // floats.lua:13
  wide[12] = ct_rsqrt_f64(x);  // floats.lua:14
  wide[13] = ct_exp_f64(x);  // floats.lua:15
  wide[14] = ct_exp2_f64(x);  // floats.lua:16
  wide[15] = ct_log_f64(x);  // floats.lua:17
  wide[16] = ct_log2_f64(x);  // floats.lua:18
  wide[17] = ct_sin_f64(x);  // floats.lua:19
  wide[18] = ct_cos_f64(x);  // floats.lua:20
  wide[19] = ct_tanh_f64(x);  // floats.lua:21
  wide[20] = ct_erf_f64(x);  // floats.lua:22
  wide[21] = ct_erfc_f64(x);  // floats.lua:23
  wide[22] = ct_expm1_f64(x);  // floats.lua:24
  wide[23] = ct_log1p_f64(x);  // floats.lua:25
  wide[24] = ct_log10_f64(x);  // floats.lua:26
  wide[25] = ct_cbrt_f64(x);  // floats.lua:27
  wide[26] = ct_sinh_f64(x);  // floats.lua:28
  wide[27] = ct_cosh_f64(x);  // floats.lua:29
  wide[28] = ct_asin_f64(x);  // floats.lua:30
  wide[29] = ct_acos_f64(x);  // floats.lua:31
  wide[30] = ct_atan_f64(x);  // floats.lua:32
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
  ints[4] = (int)holds;
}
