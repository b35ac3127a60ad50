/* tensor_core_cases.h: operands that tell tensor cores' arithmetics apart: cancellation, wide ranges of
   exponents, subnormals, results half-way between two numbers, signed zeros, infinities and NaNs. */
#ifndef TENSOR_CORE_CASES_H
#define TENSOR_CORE_CASES_H

#include "runtime/base/convert.h"
#include "runtime/base/rand.h"

typedef enum Kind {
  NEAR_ONE, /* exponents of -2 to 2 */
  WIDE,     /* all exponents alike */
  BITS,     /* any finite number */
  CANCEL,   /* products that cancel, in pairs */
  HALFWAY,  /* few bits, far apart */
  SMALL,    /* subnormals and what is next to them */
  LARGE,    /* results at the end of the range */
  ZEROS,    /* zeros of both signs, and a few numbers */
  SPECIAL,  /* an infinity or NaN here and there */
  N_KINDS
} Kind;

typedef struct Format {
  CtDtype dtype;
  int exponent_bits, places;
} Format;

static const Format formats[] = {
    {CT_f16, 5, 10},   {CT_bf16, 8, 7},   {CT_tf32, 8, 10},
    {CT_f8e4m3, 4, 3}, {CT_f8e5m2, 5, 2}, {CT_f32, 8, 23},
};

static const Format *format_of(CtDtype dtype) {
  const Format *f = formats;
  while (f->dtype != dtype) {
    f++;
  }
  return f;
}

static int any_int(CtRand *r, int lo, int hi) { return (int)ct_rand_int(r, lo, hi); }

static float finite_bits(const Format *f, uint64_t bits) {
  int shift = f->dtype == CT_tf32 ? 13 : 0;
  double v = ct_float_of_bits(f->dtype, bits << shift);
  return v - v == 0 ? (float)v : 1.5F;
}

/* A number of exponent field `field`, which is brought into range. */
static float number_at(CtRand *r, const Format *f, int field) {
  int last = (1 << f->exponent_bits) - 1;
  uint64_t e = (uint64_t)(field < 0 ? 0 : field > last ? last : field);
  uint64_t fraction =
      (uint64_t)ct_rand_int(r, INT64_MIN, INT64_MAX) & ((UINT64_C(1) << f->places) - 1);
  uint64_t sign = (uint64_t)ct_rand_int(r, INT64_MIN, INT64_MAX) & 1;
  return finite_bits(f, (sign << (f->exponent_bits + f->places)) | e << f->places | fraction);
}

static float any_number(CtRand *r, const Format *f, Kind kind) {
  int bias = (1 << (f->exponent_bits - 1)) - 1;
  int wide = f->exponent_bits == 8 ? 24 : bias;
  switch (kind) {
    case NEAR_ONE:
    case CANCEL: return number_at(r, f, bias + any_int(r, -2, 2));
    case WIDE: return number_at(r, f, bias + any_int(r, -wide / 2, wide / 2));
    case HALFWAY: {
      float x =
          (float)ldexp(1, any_int(r, -(wide < 12 ? wide / 2 : 12), wide / 2 < 4 ? wide / 2 : 4));
      x *= any_int(r, 0, 3) == 0 ? 1.5F : 1;
      return any_int(r, 0, 3) == 0 ? -x : x;
    }
    case SMALL:
      return number_at(r, f, any_int(r, 0, f->exponent_bits == 8 ? any_int(r, 0, 130) : 3));
    case LARGE:
      return number_at(r, f,
                       any_int(r, 0, 3) == 0 ? 2 * bias : bias + bias / 2 + any_int(r, -1, 1));
    case ZEROS:
      return any_int(r, 0, 5) != 0 ? (any_int(r, 0, 1) != 0 ? 0.0F : -0.0F)
                                   : number_at(r, f, bias + any_int(r, -3, 3));
    case SPECIAL:
      if (any_int(r, 0, 80) == 0) {
        bool has_infinity = f->dtype != CT_f8e4m3;
        int which = any_int(r, 0, has_infinity ? 2 : 0);
        return which == 0 ? NAN : which == 1 ? INFINITY : -INFINITY;
      }
      return number_at(r, f, bias + any_int(r, -2, 2));
    case BITS:
    case N_KINDS: break;
  }
  return number_at(r, f, any_int(r, 0, (1 << f->exponent_bits) - 1));
}

/* A of m rows and B of n columns, both of length k, B by rows of n; C, m by n. */
static void fill_case(CtRand *r, Kind kind, const CtDtype *types, int m, int n, int k, float *a,
                      float *b, float *c) {
  const Format *fa = format_of(types[0]), *fb = format_of(types[1]), *fc = format_of(types[2]);
  for (int i = 0; i < m * k; i++) {
    bool copies = kind == CANCEL && i % 2 == 1 && any_int(r, 0, 7) != 0;
    a[i] = copies ? -a[i - 1] : any_number(r, fa, kind);
  }
  for (int l = 0; l < k; l++) {
    for (int j = 0; j < n; j++) {
      bool copies = kind == CANCEL && l % 2 == 1 && any_int(r, 0, 7) != 0;
      b[l * n + j] = copies ? b[(l - 1) * n + j] : any_number(r, fb, kind);
    }
  }
  for (int i = 0; i < m * n; i++) {
    c[i] = any_int(r, 0, 3) == 0 ? 0 : any_number(r, fc, kind);
    if (fc->exponent_bits == 8 && c[i] - c[i] == 0 && kind != BITS && kind != LARGE) {
      c[i] = ldexpf(c[i], any_int(r, -20, 8)); /* also where its bits are cut off */
    }
    if (any_int(r, 0, 3) == 0) { /* cancels most of the sum */
      double sum = 0;
      for (int l = 0; l < k; l++) {
        sum += (double)a[i / n * k + l] * (double)b[l * n + i % n];
      }
      if (sum - sum == 0) {
        double near = ct_round_float(fc->dtype, -sum);
        c[i] = near - near == 0 ? (float)near : c[i];
      }
    }
  }
}

#endif
