static __device__ __forceinline__ int floordiv(int a, int b) {
  if (b == -1) return (int)(0u - a);
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
static __device__ __forceinline__ long long floordiv(long long a, long long b) {
  if (b == -1) return (long long)(0ull - a);
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
static __device__ __forceinline__ int floormod(int a, int b) {
  if (b == -1) return 0;
  const int r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}
static __device__ __forceinline__ long long floormod(long long a, long long b) {
  if (b == -1) return 0;
  const long long r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}
static __device__ __forceinline__ int shift_left(int x, int n) {
  if (n >= 32 || n <= -32) return 0;
  return (int)(n >= 0 ? (unsigned)x << n : (unsigned)x >> -n);
}
static __device__ __forceinline__ long long shift_left(long long x, long long n) {
  if (n >= 64 || n <= -64) return 0;
  return (long long)(n >= 0 ? (unsigned long long)x << n : (unsigned long long)x >> -n);
}
static __device__ __forceinline__ int shift_right(int x, int n) {
  if (n >= 32 || n <= -32) return 0;
  return (int)(n >= 0 ? (unsigned)x >> n : (unsigned)x << -n);
}
static __device__ __forceinline__ long long shift_right(long long x, long long n) {
  if (n >= 64 || n <= -64) return 0;
  return (long long)(n >= 0 ? (unsigned long long)x >> n : (unsigned long long)x << -n);
}
static __device__ __forceinline__ int wrapping_abs(int x) {
  int sign = x >> 31;
  asm("" : "+r"(sign));
  return (int)((unsigned)(x ^ sign) - sign);
}
static __device__ __forceinline__ long long wrapping_abs(long long x) {
  long long sign = x >> 63;
  asm("" : "+l"(sign));
  return (long long)((unsigned long long)(x ^ sign) - sign);
}

extern "C" __global__ void __launch_bounds__(1)
integers(int* __restrict__ out, long long* __restrict__ wide, int a, int b, long long x,
    long long y, int m, int n) {  // integers.lua:1
  const int sum = (int)((unsigned)a + b);  // integers.lua:2
  out[0] = sum;
  wide[0] = (long long)((unsigned long long)x + y);
  out[20] = m + n;
  out[1] = (int)((unsigned)a - b);  // integers.lua:3
  wide[1] = (long long)((unsigned long long)x - y);
  out[21] = m - n;
  const int product = (int)((unsigned)a * b);  // integers.lua:4
  out[2] = product;
  wide[2] = (long long)((unsigned long long)x * y);
  out[22] = m * n;
  out[3] = floordiv(a, b);  // integers.lua:5
  wide[3] = floordiv(x, y);
  out[23] = m / n;
  out[4] = floormod(a, b);  // integers.lua:6
  wide[4] = floormod(x, y);
  out[24] = m % n;
  out[5] = min(a, b);  // integers.lua:7
  wide[5] = min(x, y);
  out[25] = min(m, n);
  out[6] = max(a, b);  // integers.lua:8
  wide[6] = max(x, y);
  out[26] = max(m, n);
  out[7] = a & b;  // integers.lua:9
  wide[7] = x & y;
  out[27] = m & n;
  out[8] = a | b;  // integers.lua:10
  wide[8] = x | y;
  out[28] = m | n;
  out[9] = a ^ b;  // integers.lua:11
  wide[9] = x ^ y;
  out[29] = m ^ n;
  out[10] = shift_left(a, b);  // integers.lua:12
  wide[10] = shift_left(x, y);
  out[30] = (int)((unsigned)m << n);
  out[11] = shift_right(a, b);  // integers.lua:13
  wide[11] = shift_right(x, y);
  out[31] = m >> n;
  out[40] = (int)(0u - a);  // integers.lua:30
  out[41] = -m;
  out[42] = wrapping_abs(a);
  out[43] = abs(m - n);
  out[44] = ~a;
  wide[40] = (long long)(0ull - x);
  wide[42] = wrapping_abs(x);
  wide[44] = ~x;
  out[45] = (int)((unsigned)product + a - 7);  // integers.lua:31
  out[46] = (int)(7u - (unsigned)sum * a);
  out[47] = m - (n - 3);
  out[48] = (m - 3) * (m / n);
  out[49] = m * n % (n + 1);
  out[50] = (a & 255) | (int)((unsigned)b << 8);
  out[51] = (int)((unsigned)a >> 3);
  out[52] = shift_right(a, 40);
  out[53] = m << 4;
  out[54] = a >> 2;
  out[55] = (-2147483647 - 1);
  wide[55] = (-9223372036854775807LL - 1);
  wide[56] = (long long)a;
  out[56] = (int)x;
  wide[57] = (long long)m * 5000000000LL;
  out[57] = (a < b || x == y) && a != 0 ? a : b;  // integers.lua:32
  out[58] = (int)(b <= a);
  out[59] = a >= 3 ? (x == y ? a : b) : a < b ? b : a;
}
