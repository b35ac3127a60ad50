/* test_math.c: how exact the functions of runtime/math are, in units in the last place (ulp), and what
   they make of special values. The oracle is the C library in a wider type: double for f32, long
   double for f64.

   test_math N takes N samples for each function and type, and prints a row of docs/numerics.md for
   each. For f32, N = 4294967296 takes every number. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/rand.h"
#include "runtime/math/math.h"

#include "tap.h"

enum { SAMPLES = SOME_OF(300000) };
static const double UNKIND = 1e9; /* another kind of number, or another sign of zero */

static long double exp10_wide(long double x) { return powl(10.0L, x); }
static long double rsqrt_wide(long double x) { return 1 / sqrtl(x); }
static double exp10_double(double x) { return (double)exp10_wide((long double)x); }
static double rsqrt_double(double x) { return 1 / sqrt(x); }

/* The inverse of erf by Halley's steps from Winitzki's approximation, which is 0.2 % off. Where erf is
   nearly 1, its distance from 1 is what counts. */
static const long double SQRT_PI = 1.77245385090551602729816748334114518L;
#define INVERSE_OF_ERF(name, T, s)                                                                 \
  static T name(T x) {                                                                             \
    T a = fabs##s(x), l = log##s((1 - a) * (1 + a)), b = (T)4.3307 + l / 2;                        \
    T y = sqrt##s(sqrt##s(b * b - l / (T)0.147) - b);                                              \
    for (int i = 0; i < 3 && a < 1; i++) {                                                         \
      T off = a < (T)0.5 ? erf##s(y) - a : (1 - a) - erfc##s(y);                                   \
      T step = off * (T)SQRT_PI / 2 * exp##s(y * y);                                               \
      y -= step / (1 + y * step);                                                                  \
    }                                                                                              \
    return a < (T)1e-12 ? x * (T)SQRT_PI / 2 : a == 1 ? x * (T)INFINITY : copysign##s(y, x);       \
  }
INVERSE_OF_ERF(erfinv_double, double, )
INVERSE_OF_ERF(erfinv_wide, long double, l)

/* Samples of f64 are dense from lo to hi; bounds in ulp. */
typedef struct One {
  const char *name;
  float (*f32)(float);
  double (*f64)(double);
  double (*want32)(double);
  long double (*want64)(long double);
  double lo, hi, bound32, bound64;
} One;
#define ROW(name, lo, hi, bound32, bound64)                                                        \
  { #name, ct_##name##_f32, ct_##name##_f64, name, name##l, lo, hi, bound32, bound64 }
#define OWN_ROW(name, lo, hi, bound32, bound64)                                                    \
  { #name, ct_##name##_f32, ct_##name##_f64, name##_double, name##_wide, lo, hi, bound32, bound64 }
static const One ones[] = {OWN_ROW(rsqrt, 0, 8, 0.501, 1.5), ROW(exp, -750, 710, 1.1, 1.1),
                           ROW(exp2, -1080, 1025, 1.0, 1.0), OWN_ROW(exp10, -324, 309, 1.2, 1.2),
                           ROW(expm1, -40, 710, 1.7, 2.0),   ROW(log, 0.3, 4, 1.0, 1.0),
                           ROW(log2, 0.3, 4, 1.2, 1.2),      ROW(log10, 0.3, 4, 1.0, 1.0),
                           ROW(log1p, -1, 4, 1.7, 1.7),      ROW(sin, -100, 100, 1.1, 1.1),
                           ROW(cos, -100, 100, 1.1, 1.1),    ROW(tanh, -22, 22, 2.8, 2.8),
                           ROW(sinh, -3, 3, 1.8, 1.8),       ROW(cosh, -3, 3, 1.7, 1.7),
                           ROW(asin, -1, 1, 2.2, 2.2),       ROW(acos, -1, 1, 1.5, 1.5),
                           ROW(atan, -5, 5, 1.4, 1.4),       ROW(erf, -6, 6, 1.2, 1.2),
                           ROW(erfc, -6, 27.5, 3.2, 3.2),    OWN_ROW(erfinv, -1, 1, 2.9, 2.8),
                           ROW(cbrt, -8, 8, 0.51, 0.51)};

typedef struct Two {
  const char *name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  double (*want32)(double, double);
  long double (*want64)(long double, long double);
  double bound32, bound64;
} Two;
#define ROW_TWO(name, bound32, bound64)                                                            \
  { #name, ct_##name##_f32, ct_##name##_f64, name, name##l, bound32, bound64 }
static const Two twos[] = {ROW_TWO(pow, 1.1, 1.7), ROW_TWO(hypot, 0.9, 0.9),
                           ROW_TWO(atan2, 1.5, 1.5)};

/* What differs between the types. */
typedef struct Format {
  int digits, least;
  long double largest;
} Format;
static const Format f32_format = {24, -125, 0x1.fffffep127L};
static const Format f64_format = {53, -1021, 0x1.fffffffffffffp1023L};

/* Infinity stands for the number after the largest one. */
static double beyond(const Format *f, long double got, long double want) {
  long double step = ldexpl(1, (f == &f32_format ? 128 : 1024) - f->digits);
  bool both =
      (got > 0) == (want > 0) && fabsl(got) >= f->largest && fabsl(want) >= f->largest - step;
  long double x = isinf(got) ? f->largest + step : fabsl(got);
  long double y = fabsl(want) > f->largest + step ? f->largest + step : fabsl(want);
  return both ? (double)(fabsl(x - y) / step) : UNKIND;
}

static double ulps(const Format *f, long double got, long double want) {
  int e;
  if (isnan(got) || isnan(want)) {
    return isnan(got) && isnan(want) ? 0 : UNKIND;
  }
  if (got == 0 && want == 0) {
    return !signbit(got) == !signbit(want) ? 0 : UNKIND;
  }
  if (isinf(got) || isinf(want) || fabsl(want) > f->largest) {
    return beyond(f, got, want);
  }
  (void)frexpl(want, &e);
  e = e < f->least ? f->least : e;
  return (double)(fabsl(got - want) / ldexpl(1, e - f->digits));
}

typedef struct Worst {
  double ulps, x, y;
} Worst;

static void note(Worst *w, double error, double x, double y) {
  if (error > w->ulps) {
    *w = (Worst){error, x, y};
  }
}

static double float_of(uint64_t bits) { return (double)__int_as_float((int)(uint32_t)bits); }
static double double_of(uint64_t bits) { return __longlong_as_double((long long)bits); }

static uint64_t any_bits(CtRand *r) { return (uint64_t)ct_rand_int(r, INT64_MIN, INT64_MAX); }

static const double specials[] = {0.0,
                                  -0.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  0.5,
                                  -3,
                                  -0.5,
                                  3,
                                  1e30,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p53,
                                  8388609.0,
                                  90,
                                  -0x1p127,
                                  0x1p-126,
                                  0x1.fffffep127,
                                  -745,
                                  0x1.fffffffffffffp1023,
                                  -0x1.fffffffffffffp1023};

static void try_one32(const One *o, double x, Worst *w) {
  note(w, ulps(&f32_format, (long double)o->f32((float)x), (long double)o->want32((float)x)), x, 0);
}
static void try_one64(const One *o, double x, Worst *w) {
  note(w, ulps(&f64_format, (long double)o->f64(x), o->want64((long double)x)), x, 0);
}

static Worst worst_one32(const One *o, uint64_t n) {
  Worst w = {0, 0, 0};
  uint64_t step = ((uint64_t)1 << 32) / n;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step > 1 ? step | 1 : 1) {
    try_one32(o, float_of(bits), &w);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(specials); i++) {
    try_one32(o, specials[i], &w);
  }
  return w;
}

static Worst worst_one64(const One *o, uint64_t n) {
  Worst w = {0, 0, 0};
  CtRand r;
  ct_rand_seed(&r, n);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t bits = any_bits(&r);
    double within = o->lo + (o->hi - o->lo) * ((double)(bits >> 11) * 0x1p-53);
    try_one64(o, i % 2 == 0 ? within : double_of(bits), &w);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(specials); i++) {
    try_one64(o, specials[i], &w);
  }
  return w;
}

static void try_two(const Two *t, bool is_f64, double x, double y, Worst *w) {
  float a = (float)x, b = (float)y;
  if (is_f64) {
    note(w, ulps(&f64_format, (long double)t->f64(x, y), t->want64((long double)x, (long double)y)),
         x, y);
  } else {
    note(w, ulps(&f32_format, (long double)t->f32(a, b), (long double)t->want32(a, b)), (double)a,
         (double)b);
  }
}

/* Half of them of any size, half such that a power is finite. */
static Worst worst_two(const Two *t, bool is_f64, uint64_t n) {
  Worst w = {0, 0, 0};
  CtRand r;
  ct_rand_seed(&r, n);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t u = any_bits(&r), v = any_bits(&r);
    double x = exp((double)(u >> 11) * 0x1p-53 * 20 - 10);
    double y = ((double)(v >> 11) * 0x1p-53 - 0.5) * (is_f64 ? 1400 : 180) / log(x);
    bool any = i % 2 != 0;
    try_two(t, is_f64,
            !any     ? x
            : is_f64 ? double_of(u)
                     : float_of(u),
            !any     ? y
            : is_f64 ? double_of(v)
                     : float_of(v),
            &w);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(specials) * CT_ARRAY_LEN(specials); i++) {
    size_t k = CT_ARRAY_LEN(specials);
    try_two(t, is_f64, specials[i / k], specials[i % k], &w);
  }
  return w;
}

/* {====== The same bits on each machine ====== */

static uint64_t add_bits(uint64_t h, bool is_nan, uint64_t bits) {
  return (h ^ (is_nan ? 0x7FFF : bits)) * 0x9E3779B97F4A7C15u + (h >> 29);
}
static uint64_t add_f32(uint64_t h, float x) {
  return add_bits(h, isnan(x), (uint32_t)__float_as_int(x));
}
static uint64_t add_f64(uint64_t h, double x) {
  return add_bits(h, isnan(x), (uint64_t)__double_as_longlong(x));
}

/* A sum over results for f32 and f64: of one function, or else of the other. The arguments are made
   without a library's functions. */
static void sum_bits(const One *o, const Two *t, uint64_t out[2]) {
  enum { N = 20000 };
  CtRand r;
  ct_rand_seed(&r, N);
  out[0] = out[1] = 0;
  for (int i = 0; i < N; i++) {
    uint64_t u = any_bits(&r), v = any_bits(&r);
    double a = (double)(u >> 11) * 0x1p-53, b = (double)(v >> 11) * 0x1p-53;
    double x = o != NULL ? o->lo + (o->hi - o->lo) * a : 20 * a, y = 60 * b - 30;
    bool any = i % 2 != 0;
    float x32 = any ? __int_as_float((int)(uint32_t)u) : (float)x;
    float y32 = any ? __int_as_float((int)(uint32_t)v) : (float)y;
    x = any ? double_of(u) : x;
    y = any ? double_of(v) : y;
    out[0] = add_f32(out[0], o != NULL ? o->f32(x32) : t->f32(x32, y32));
    out[1] = add_f64(out[1], o != NULL ? o->f64(x) : t->f64(x, y));
  }
}

/* As x86-64 has them; --bits prints these rows. */
static const uint64_t bits_known[][2] = {
#include "test_math_bits.def"
};

static void test_same_bits(bool prints) {
  for (size_t i = 0; i < CT_ARRAY_LEN(ones) + CT_ARRAY_LEN(twos); i++) {
    const One *o = i < CT_ARRAY_LEN(ones) ? &ones[i] : NULL;
    const Two *t = o == NULL ? &twos[i - CT_ARRAY_LEN(ones)] : NULL;
    const char *name = o != NULL ? o->name : t->name;
    uint64_t got[2];
    sum_bits(o, t, got);
    if (prints) {
      printf("{0x%016" PRIx64 ", 0x%016" PRIx64 "}, /* %s */\n", got[0], got[1], name);
    } else {
      OK(i < CT_ARRAY_LEN(bits_known) && got[0] == bits_known[i][0] && got[1] == bits_known[i][1],
         "%s has the bits that it has elsewhere", name);
    }
  }
}

/* {====== */

static void say(const char *name, const char *type, Worst w, double bound, bool is_table) {
  if (is_table) {
    printf("| `%s` | %s | %.3f | %a %a |\n", name, type, w.ulps, w.x, w.y);
    fflush(stdout);
  } else {
    OK(w.ulps <= bound, "%s of %s: %.3f ulp at (%a, %a)", name, type, w.ulps, w.x, w.y);
  }
}

/* Without it there is no oracle for f64. musl's functions of long doubles are those of doubles, in part. */
#if defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__)
static const bool has_wide = LDBL_MANT_DIG >= 64;
#else
static const bool has_wide = false;
#endif

int main(int argc, char **argv) {
  uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : SAMPLES;
  if (argc > 1 && strcmp(argv[1], "--bits") == 0) {
    test_same_bits(true);
    return 0;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(ones) && n > 0; i++) {
    say(ones[i].name, "f32", worst_one32(&ones[i], n), ones[i].bound32, argc > 1);
    uint64_t n64 = n > 10000000 ? 10000000 : n;
    if (has_wide) {
      say(ones[i].name, "f64", worst_one64(&ones[i], n64), ones[i].bound64, argc > 1);
    }
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(twos) && n > 0; i++) {
    uint64_t n2 = n > 10000000 ? 10000000 : n;
    say(twos[i].name, "f32", worst_two(&twos[i], false, n2), twos[i].bound32, argc > 1);
    if (has_wide) {
      say(twos[i].name, "f64", worst_two(&twos[i], true, n2), twos[i].bound64, argc > 1);
    }
  }
  if (argc == 1) {
    test_same_bits(false);
  }
  return argc > 1 ? 0 : done_testing();
}
