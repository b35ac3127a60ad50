-- reference.lua: the other side of random kernels: C that says each operation outright, and programs made of
-- it, compiled many at a time by the system's cc. Nothing here comes of Cuttle's own emitter; the
-- functions of runtime/math, which test_math.c checks, are taken as they are.
local M = {}

M.prelude = [[
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "runtime/math/math.h"
typedef uint16_t half_t;

static float of_f16(half_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  float f = e == 31 ? (m != 0 ? NAN : INFINITY) : e == 0 ? ldexpf((float)m, -24) : ldexpf((float)(m | 1024), e - 25);
  return (h & 0x8000) != 0 ? -f : f;
}
/* The nearest, ties to even: an f16 is a multiple of 2^-24, or of its own 2^-10. */
static half_t to_f16(double x) {
  half_t sign = signbit(x) ? 0x8000 : 0;
  int e;
  if (x != x) return 0x7fff;
  x = fabs(x);
  if (x >= 65520.0) return sign | 0x7c00;
  if (x < ldexp(1.0, -14)) return (half_t)(sign | (int)nearbyint(ldexp(x, 24)));
  (void)frexp(x, &e);
  return (half_t)(sign | (((e + 13) << 10) + (int)nearbyint(ldexp(x, 11 - e))));
}
#define SATURATE(T, S, LO, HI, OVER) \
  static T sat_##S(double x) { return x != x ? 0 : x <= (double)LO ? LO : x >= OVER ? HI : (T)x; }
SATURATE(int8_t, i8, INT8_MIN, INT8_MAX, 128.0)
SATURATE(uint8_t, u8, 0, UINT8_MAX, 256.0)
SATURATE(int16_t, i16, INT16_MIN, INT16_MAX, 32768.0)
SATURATE(uint16_t, u16, 0, UINT16_MAX, 65536.0)
SATURATE(int32_t, i32, INT32_MIN, INT32_MAX, 2147483648.0)
SATURATE(uint32_t, u32, 0, UINT32_MAX, 4294967296.0)
SATURATE(int64_t, i64, INT64_MIN, INT64_MAX, 9223372036854775808.0)
SATURATE(uint64_t, u64, 0, UINT64_MAX, 18446744073709551616.0)

#define INTS(T, U, S, W) \
  static T add_##S(T a, T b) { return (T)((U)a + (U)b); } \
  static T sub_##S(T a, T b) { return (T)((U)a - (U)b); } \
  static T mul_##S(T a, T b) { return (T)((U)a * (U)b); } \
  static T and_##S(T a, T b) { return a & b; } \
  static T or_##S(T a, T b) { return a | b; } \
  static T xor_##S(T a, T b) { return a ^ b; } \
  static T min_##S(T a, T b) { return b < a ? b : a; } \
  static T max_##S(T a, T b) { return b > a ? b : a; } \
  static T neg_##S(T a) { return (T)(0 - (U)a); } \
  static T not_##S(T a) { return (T)~(U)a; } \
  static int32_t popc_##S(T a) { int n = 0; for (int i = 0; i < W; i++) n += (U)a >> i & 1; return n; } \
  static int32_t clz_##S(T a) { int n = 0; while (n < W && ((U)a >> (W - 1 - n) & 1) == 0) n++; return n; } \
  static int32_t ffs_##S(T a) { int n = 0; while (n < W && ((U)a >> n & 1) == 0) n++; return n == W ? 0 : n + 1; } \
  static T brev_##S(T a) { U r = 0; for (int i = 0; i < W; i++) r |= ((U)a >> i & 1) << (W - 1 - i); return (T)r; }
#define SIGNED(T, U, S, W) INTS(T, U, S, W) \
  static T abs_##S(T a) { return a < 0 ? neg_##S(a) : a; } \
  static T mod_##S(T a, T b) { T r = b == -1 ? 0 : a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; } \
  static T div_##S(T a, T b) { return b == -1 ? neg_##S(a) : (T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0))); } \
  static T cdiv_##S(T a, T b) { return b == -1 ? neg_##S(a) : (T)(a / b + (a % b != 0 && (a < 0) == (b < 0))); } \
  static T shl_##S(T a, T b) { \
    return (T)(b >= W || b <= -W ? 0 : b >= 0 ? (U)a << b : (U)a >> -b); \
  } \
  static T shr_##S(T a, T b) { \
    return (T)(b >= W || b <= -W ? 0 : b >= 0 ? (U)a >> b : (U)a << -b); \
  } \
  static T ashr_##S(T a, T b) { \
    if (b < 0) return shr_##S(a, b); \
    return a >= 0 ? (T)((U)a >> (b < W ? b : W - 1)) : (T)~((U)~a >> (b < W ? b : W - 1)); \
  }
#define UNSIGNED(T, S, W) INTS(T, T, S, W) \
  static T abs_##S(T a) { return a; } \
  static T mod_##S(T a, T b) { return a % b; } \
  static T div_##S(T a, T b) { return a / b; } \
  static T cdiv_##S(T a, T b) { return a / b + (a % b != 0); } \
  static T shl_##S(T a, T b) { return b >= W ? 0 : a << b; } \
  static T shr_##S(T a, T b) { return b >= W ? 0 : a >> b; } \
  static T ashr_##S(T a, T b) { return shr_##S(a, b); }
#define ONE(NAME, name) \
  static float name##_f32(float a) { return ct_##name##_f32(a); } \
  static double name##_f64(double a) { return ct_##name##_f64(a); }
#define TWO(NAME, name) \
  static float name##_f32(float a, float b) { return ct_##name##_f32(a, b); } \
  static double name##_f64(double a, double b) { return ct_##name##_f64(a, b); }
#include "runtime/math/math_names.def"
/* A count of 64 bits that shifts one of 32. */
static uint32_t count_u32(uint64_t n) { return n < 32 ? (uint32_t)n : 32; }
static int32_t mulhi_i32(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }
static uint32_t mulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static int64_t mulhi_i64(int64_t a, int64_t b) { return (int64_t)((__int128)a * b >> 64); }
static uint64_t mulhi_u64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
SIGNED(int32_t, uint32_t, i32, 32)
SIGNED(int64_t, uint64_t, i64, 64)
UNSIGNED(uint32_t, u32, 32)
UNSIGNED(uint64_t, u64, 64)

#define FLOATS(T, S, F) \
  static T add_##S(T a, T b) { return a + b; } \
  static T sub_##S(T a, T b) { return a - b; } \
  static T mul_##S(T a, T b) { return a * b; } \
  static T quot_##S(T a, T b) { return a / b; } \
  static T div_##S(T a, T b) { return floor##F(a / b); } \
  static T mod_##S(T a, T b) { T r = fmod##F(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; } \
  static T neg_##S(T a) { return -a; } \
  static T abs_##S(T a) { return fabs##F(a); } \
  static T floor_##S(T a) { return floor##F(a); } \
  static T ceil_##S(T a) { return ceil##F(a); } \
  static T sqrt_##S(T a) { return sqrt##F(a); } \
  static T trunc_##S(T a) { return trunc##F(a); } \
  static T round_##S(T a) { return round##F(a); } \
  static T rint_##S(T a) { return rint##F(a); } \
  static T fmod_##S(T a, T b) { return fmod##F(a, b); } \
  static T copysign_##S(T a, T b) { return copysign##F(a, b != b ? 1 : b); } \
  static T fma_##S(T a, T b, T c) { return fma##F(a, b, c); } \
  static T min_##S(T a, T b) { \
    if (a != a || b != b) return a != a ? b : a; \
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b; \
  } \
  static T max_##S(T a, T b) { \
    if (a != a || b != b) return a != a ? b : a; \
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b; \
  }
FLOATS(float, f32, f)
FLOATS(double, f64, )

static uint32_t bits_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

/* The lane that a lane reads by a shuffle within segments of `width`. */
static int lane_up(int i, int by, int width) { return i % width >= (by & 31) ? i - (by & 31) : i; }
static int lane_down(int i, int by, int width) { return i % width + (by & 31) < width ? i + (by & 31) : i; }
static int lane_xor(int i, int by, int width) {
  int j = (i % 32) ^ (by & 31);
  return j <= (i % 32 | (width - 1)) ? i - i % 32 + j : i;
}
static int lane_idx(int i, int by, int width) { return i - i % width + (by & (width - 1)); }
]]

-- Does the system have a compiler? CC as for make.
local cc <const> = os.getenv "CC" or "cc"
function M.is_there() return os.execute("command -v " .. cc .. " >/dev/null 2>&1") == true end

local function write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

-- Begins to compile and run the texts of programs, in the background. Returns a function that waits and gives
-- what they wrote.
function M.start(data, texts)
  local path = os.tmpname()
  local calls = {}
  for i, text in ipairs(texts) do
    calls[i] = ("p%d();\n"):format(i)
    texts[i] = ("static void p%d(void) {\n%s}\n"):format(i, text)
  end
  write_file(path .. ".c", table.concat { M.prelude, data, table.concat(texts), "int main(void) {\n",
    table.concat(calls), "return ferror(stdout) != 0 || fflush(stdout) != 0; }\n" })
  local command = "CC -std=gnu11 -O0 -w -fwrapv -ffp-contract=off -I. -o FILE.out FILE.c -lm && FILE.out"
  local pipe = assert(io.popen((command:gsub("CC", cc):gsub("FILE", path))))
  return function()
    local out = pipe:read "a"
    local ended = pipe:close()
    if ended then
      os.remove(path)
      os.remove(path .. ".c")
      os.remove(path .. ".out")
    end
    return ended and out, path .. ".c"
  end
end

return M
