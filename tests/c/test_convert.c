/* test_convert.c: conversions against a reference of another kind: the values of a narrow type are listed
   by ldexp, and a number's neighbours are searched in the list and compared with the point between
   them, which a double holds exactly. */
#include "runtime/base/convert.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

typedef struct Narrow {
  CtDtype type;
  int exponent, fraction; /* bits */
  bool has_inf;
  uint32_t n_finite; /* patterns from 0 on */
  uint32_t nan;      /* the largest number, if there is none */
} Narrow;

static const Narrow narrows[] = {
    {CT_f16, 5, 10, true, 0x7C00, 0x7FFF},    {CT_bf16, 8, 7, true, 0x7F80, 0x7FFF},
    {CT_f8e4m3, 4, 3, false, 0x7F, 0x7F},     {CT_f8e5m2, 5, 2, true, 0x7C, 0x7F},
    {CT_tf32, 8, 10, true, 0x3FC00, 0x3FFFF}, {CT_f8ue4m3, 4, 3, false, 0x7F, 0x7F},
    {CT_f6e2m3, 2, 3, false, 0x20, 0x1F},     {CT_f6e3m2, 3, 2, false, 0x20, 0x1F},
    {CT_f4e2m1, 2, 1, false, 8, 7},
};

/* A tf32 is listed without its 13 zeros. */
static int shift_of(const Narrow *n) { return n->type == CT_tf32 ? 13 : 0; }

static double value_of(const Narrow *n, uint32_t pattern) {
  int bias = (1 << (n->exponent - 1)) - 1;
  int e = (int)(pattern >> n->fraction);
  int f = (int)(pattern & ((1u << n->fraction) - 1));
  return e == 0 ? ldexp(f, 1 - bias - n->fraction)
                : ldexp(f + (1 << n->fraction), e - bias - n->fraction);
}

static bool saturates(const Narrow *n) { return ct_dtypes[n->type].bits <= 8; }
static bool has_sign(const Narrow *n) { return n->type != CT_f8ue4m3; }

/* The pattern for a number, by search. */
static uint64_t expected(const Narrow *n, double x) {
  uint32_t lo = 0, hi = n->n_finite; /* value(lo) <= |x| < value(hi) */
  double size = fabs(x);
  uint64_t sign = signbit(x) && has_sign(n) ? (uint64_t)1 << (ct_dtypes[n->type].bits - 1) : 0;
  if (isnan(x)) {
    return (uint64_t)n->nan << shift_of(n);
  }
  while (hi - lo > 1) {
    uint32_t mid = (lo + hi) / 2;
    *(value_of(n, mid) <= size ? &lo : &hi) = mid;
  }
  double between = (value_of(n, lo) + value_of(n, hi)) / 2;
  bool ties_up = n->type == CT_tf32 || (lo & 1) != 0;
  uint32_t p = size > between || (size == between && ties_up) ? hi : lo;
  if (p == n->n_finite && saturates(n)) {
    p--;
  }
  return (uint64_t)p << shift_of(n) | sign;
}

static uint64_t random_state = 1;
static uint64_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state ^ random_state >> 29;
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static double double_of(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static bool differs(const Narrow *n, const char *from, double x, uint64_t got) {
  uint64_t want = expected(n, x);
  if (got != want) {
    tap_diag("%s to %s: %a gave %llx, expected %llx", from, ct_dtypes[n->type].name, x,
             (unsigned long long)got, (unsigned long long)want);
  }
  return got != want;
}

/* All exponents with random fractions, and every bit pattern of the last few bits around them. */
static void test_from_f32(const Narrow *n) {
  int n_wrong = 0;
  for (uint32_t e = 0; e < 512 && n_wrong < 5; e++) {
    for (int i = 0; i < 400; i++) {
      uint32_t f = (uint32_t)random_bits() & 0x7FFFFF;
      f = i % 4 == 1 ? f & 0x7F0000 : i % 4 == 2 ? (f & 0x7FF000) + (uint32_t)(i % 3) - 1 : f;
      uint32_t bits = e << 23 | (f & 0x7FFFFF);
      n_wrong += differs(n, "f32", (double)float_of(bits), ct_convert(n->type, CT_f32, bits));
    }
  }
  OK(n_wrong == 0, "f32 to %s: every exponent", ct_dtypes[n->type].name);
}

/* Each number between two neighbours, and the doubles right beside it. */
static void test_ties(const Narrow *n) {
  int n_wrong = 0;
  for (uint32_t p = 0; p < n->n_finite && n_wrong < 5; p++) {
    double between = (value_of(n, p) + value_of(n, p + 1)) / 2;
    double near[] = {between, nextafter(between, 0), nextafter(between, HUGE_VAL), value_of(n, p)};
    for (int i = 0; i < 8; i++) {
      double x = i < 4 ? near[i] : -near[i - 4];
      n_wrong += differs(n, "f64", x, ct_bits_of_float(n->type, x));
      float f = (float)x;
      uint32_t bits;
      memcpy(&bits, &f, sizeof bits);
      n_wrong += differs(n, "f32", (double)f, ct_convert(n->type, CT_f32, bits));
    }
  }
  OK(n_wrong == 0, "to %s: halves between all neighbours, f64 and f32", ct_dtypes[n->type].name);
}

static void test_from_f64(const Narrow *n) {
  int n_wrong = 0;
  for (int i = 0; i < 100000 && n_wrong < 5; i++) {
    double x = double_of(random_bits());
    double y = ldexp(x, i % 2 == 0 ? 0 : -ilogb(isfinite(x) && x != 0 ? x : 1) + i % 300 - 150);
    n_wrong += differs(n, "f64", y, ct_bits_of_float(n->type, y));
  }
  n_wrong += differs(n, "f64", HUGE_VAL, ct_bits_of_float(n->type, HUGE_VAL));
  n_wrong += differs(n, "f64", -HUGE_VAL, ct_bits_of_float(n->type, -HUGE_VAL));
  OK(n_wrong == 0, "f64 to %s: random", ct_dtypes[n->type].name);
}

static bool is_expected_value(const Narrow *n, uint32_t pattern, double got) {
  if (n->has_inf && pattern == n->n_finite) {
    return isinf(got) && got > 0;
  }
  return pattern < n->n_finite ? got == value_of(n, pattern) : isnan(got);
}

static void test_widening(const Narrow *n) {
  uint32_t n_patterns = 1u << (n->exponent + n->fraction);
  int n_wrong = 0, n_back = 0;
  for (uint32_t p = 0; p < n_patterns * (has_sign(n) ? 2 : 1); p++) {
    bool negative = p >= n_patterns;
    uint32_t pattern = p & (n_patterns - 1);
    uint64_t bits = (uint64_t)pattern << shift_of(n) |
                    (negative ? (uint64_t)1 << (ct_dtypes[n->type].bits - 1) : 0);
    double v = ct_float_of_bits(n->type, bits);
    uint32_t wide = (uint32_t)ct_convert(CT_f32, n->type, bits);
    n_wrong += !is_expected_value(n, pattern, negative && !isnan(v) ? -v : v);
    n_wrong += isnan(v) ? !isnan(float_of(wide)) : (double)float_of(wide) != v;
    n_wrong += !isnan(v) && signbit(v) != (negative ? 1 : 0) && (signbit(v) != 0) != negative;
    bool is_inf8 = isinf(v) && saturates(n);
    n_back += !isnan(v) && !is_inf8 && ct_convert(n->type, CT_f32, wide) != bits;
  }
  OK(n_wrong == 0, "%s to f32 and f64: all patterns", ct_dtypes[n->type].name);
  OK(n_back == 0, "%s to f32 and back: the same bits", ct_dtypes[n->type].name);
}

/* --- NaN, as the hardware's conversions have it ------------------------------------------------------ */

static void test_nan(void) {
  OK(ct_convert(CT_f16, CT_f32, 0xFF800001) == 0x7FFF, "NaN to f16");
  OK(ct_convert(CT_bf16, CT_f32, 0xFFC00000) == 0x7FFF, "NaN to bf16");
  OK(ct_convert(CT_tf32, CT_f32, 0xFFC00000) == 0x7FFFE000, "NaN to tf32");
  OK(ct_convert(CT_f8e4m3, CT_f64, 0x7FF8000000000000) == 0x7F, "NaN to f8e4m3");
  OK(ct_convert(CT_f8e5m2, CT_f64, 0xFFF8000000000000) == 0x7F, "NaN to f8e5m2");
  OK(ct_convert(CT_f32, CT_f16, 0xFC01) == 0x7FFFFFFF, "NaN of f16 to f32");
  OK(ct_convert(CT_f32, CT_f8e4m3, 0xFF) == 0x7FFFFFFF, "NaN of f8e4m3 to f32");
  OK(ct_convert(CT_f32, CT_f8e5m2, 0xFD) == 0x7FFFFFFF, "NaN of f8e5m2 to f32");
  OK(ct_convert(CT_f32, CT_bf16, 0xFF81) == 0xFF810000, "NaN of bf16 to f32 keeps its bits");
}

/* --- integers ---------------------------------------------------------------------------------------- */

static void test_int_to_float(void) {
  int n_wrong = 0;
  for (size_t k = 0; k < CT_ARRAY_LEN(narrows); k++) {
    for (int i = 0; i < 40000 && n_wrong < 5; i++) {
      int64_t v = (int64_t)random_bits() >> (random_bits() % 64);
      v = i % 3 == 0 ? v & -((int64_t)1 << (random_bits() % 40)) : v;
      uint64_t got = ct_convert(narrows[k].type, CT_i64, (uint64_t)v);
      double exact = (double)v;
      if ((int64_t)exact != v ||
          fabs(exact) >= 9.2e18) { /* a sticky bit instead of the lost ones */
        int64_t kept = (int64_t)((uint64_t)v & ~(uint64_t)0xFFFF) | 0x8000;
        exact = (double)kept;
      }
      n_wrong += differs(&narrows[k], "i64", exact, got);
    }
  }
  OK(n_wrong == 0, "i64 to narrow floats: the exact integer, rounded once");
  OK(ct_convert(CT_f32, CT_u64, UINT64_MAX) == 0x5F800000, "u64 to f32");
  OK(ct_convert(CT_bf16, CT_i32, 0x00FF8001) == 0x4B80, "i32 to bf16: above a tie");
  OK(ct_convert(CT_f16, CT_u32, 0xFFFFFFFF) == 0x7C00, "u32 to f16: beyond the range");
}

static void test_float_to_int(void) {
  static const struct {
    CtDtype to;
    double v;
    int64_t want;
  } cases[] = {
      {CT_i8, 127.9, 127},
      {CT_i8, 128, 127},
      {CT_i8, -128.9, -128},
      {CT_i8, -1e30, -128},
      {CT_u8, -0.5, 0},
      {CT_u8, -3, 0},
      {CT_u8, 255.99, 255},
      {CT_u8, 1e9, 255},
      {CT_i16, 40000, 32767},
      {CT_u16, 65535.5, 65535},
      {CT_u16, 1e300, 65535},
      {CT_i32, 2147483647.5, INT32_MAX},
      {CT_i32, -2147483648.9, INT32_MIN},
      {CT_u32, 4294967295.9, UINT32_MAX},
      {CT_u32, 4294967296.0, UINT32_MAX},
      {CT_i64, 9.3e18, INT64_MAX},
      {CT_u64, 1.8e19, (int64_t)18000000000000000000u},
      {CT_u64, 1e20, -1},
      {CT_u64, -1, 0},
      {CT_i64, -9.3e18, INT64_MIN},
      {CT_i32, (double)NAN, 0},
      {CT_u64, (double)NAN, 0},
      {CT_u8, HUGE_VAL, 255},
      {CT_i64, -HUGE_VAL, INT64_MIN},
  };
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    int64_t got = ct_truncate_float(cases[i].to, cases[i].v);
    OK(got == cases[i].want, "%g to %s is %lld", cases[i].v, ct_dtypes[cases[i].to].name,
       (long long)got);
  }
}

static void test_ints(void) {
  OK(ct_convert(CT_i8, CT_i32, 0x1FF) == 0xFF, "i32 to i8 keeps the low bits");
  OK(ct_convert(CT_i64, CT_i8, 0xFF) == UINT64_MAX, "i8 to i64 extends the sign");
  OK(ct_convert(CT_i64, CT_u8, 0xFF) == 0xFF, "u8 to i64 extends with zeros");
  OK(ct_convert(CT_u64, CT_i32, 0xFFFFFFFF) == UINT64_MAX, "i32 to u64 extends the sign");
  OK(ct_convert(CT_u16, CT_i64, 0x12345) == 0x2345, "i64 to u16 keeps the low bits");
  OK(ct_convert(CT_bool, CT_f16, 0x8000) == 0 && ct_convert(CT_bool, CT_f16, 0x7C01) == 1,
     "-0 is false, NaN is true");
  OK(ct_convert(CT_f8e5m2, CT_bool, 1) == 0x3C, "true is 1");
}

/* --- which types hold which: against all values -------------------------------------------------------- */

static void test_holds(void) {
  int n_wrong = 0;
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    for (int u = CT_VOID + 1; u < CT_DTYPE_COUNT; u++) {
      bool all = true; /* every value of u, or many, comes back the same */
      if (t == u || t == CT_bool || u == CT_bool) {
        continue;
      }
      for (uint32_t i = 0; i < 1u << 16 && all; i++) {
        uint64_t bits = i;
        bits = ct_dtypes[u].bits > 16 ? bits << (ct_dtypes[u].bits - 16) | (i & 1) : bits;
        bits = u == CT_tf32 ? (bits & 0xFFFF0000) | (i & 1) << 13
                            : bits & (UINT64_MAX >> (64 - ct_dtypes[u].bits));
        bits = u == CT_f8ue4m3 ? bits & 0x7F : bits; /* bit 7 is no part of it */
        bool special = ct_is_float((CtDtype)u) && !isfinite(ct_float_of_bits((CtDtype)u, bits));
        bool zero = ct_is_float((CtDtype)u) && ct_float_of_bits((CtDtype)u, bits) == 0;
        uint64_t there = ct_convert((CtDtype)t, (CtDtype)u, bits);
        bool sign = ct_is_unsigned((CtDtype)t) && !ct_is_unsigned((CtDtype)u) &&
                    (bits >> (ct_dtypes[u].bits - 1) & 1) != 0;
        sign = sign || (t == CT_i64 && u == CT_u64 && bits >> 63 != 0);
        sign = sign || (ct_dtypes[t].bits == ct_dtypes[u].bits && !ct_is_float((CtDtype)t) &&
                        !ct_is_float((CtDtype)u) && (bits >> (ct_dtypes[u].bits - 1) & 1) != 0);
        all = special || (zero && ct_is_int((CtDtype)t)) ||
              (!sign && ct_convert((CtDtype)u, (CtDtype)t, there) == bits);
      }
      if (all != ct_dtype_holds((CtDtype)t, (CtDtype)u)) {
        n_wrong++;
        tap_diag("does %s hold every %s? by conversions %d", ct_dtypes[t].name, ct_dtypes[u].name,
                 all);
      }
    }
  }
  OK(n_wrong == 0, "ct_dtype_holds says what conversions there and back say");
}

__extension__ typedef __int128 Wide;

/* Elements in memory, against 128 bits: of all types, around all powers of two. */
static void test_spans(void) {
  uint64_t n_wrong = 0;
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    for (int log = 0; log < 63; log++) {
      for (int64_t by = -2; by <= 2; by++) {
        int64_t n = ct_max(((int64_t)1 << log) + by, 0), span = 0;
        size_t bytes = 0;
        Wide bits = (Wide)n * ct_dtype_pitch((CtDtype)t), exact = (bits + 7) / 8;
        bool overflows = ct_dtype_span_overflow((CtDtype)t, n, &span);
        bool fits = ct_dtype_span_fits((CtDtype)t, n, &bytes);
        n_wrong += overflows != (exact > INT64_MAX) || (!overflows && span != exact);
        n_wrong += fits != (exact <= PTRDIFF_MAX) || (fits && bytes != (size_t)exact);
        n_wrong += !overflows && ct_dtype_span((CtDtype)t, n) != exact;
        n_wrong += !overflows && ct_dtype_byte((CtDtype)t, n) != bits / 8;
      }
    }
  }
  OK(n_wrong == 0, "bytes of n elements in memory: %llu are wrong", (unsigned long long)n_wrong);
}

int main(void) {
  test_spans();
  for (size_t i = 0; i < CT_ARRAY_LEN(narrows); i++) {
    test_from_f32(&narrows[i]);
    test_ties(&narrows[i]);
    test_from_f64(&narrows[i]);
    test_widening(&narrows[i]);
  }
  test_nan();
  test_int_to_float();
  test_float_to_int();
  test_ints();
  test_holds();
  return done_testing();
}
