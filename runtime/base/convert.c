/* convert.c: casts between element types by integer arithmetic. */
#include "convert.h"

#include <math.h>

#include "bits.h"

static const CtFormat formats[CT_DTYPE_COUNT] = {
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ends, ...)                              \
  [CT_##name] = CT_FORMAT(bits, e, f, ends),
#include "dtypes.def"
};

const CtFormat *ct_dtype_format(CtDtype t) { return &formats[t]; }

/* (-1)^negative * significand * 2^exponent, an infinity or NaN. */
typedef enum Kind { FINITE, INFINITE, NOT_A_NUMBER } Kind;
typedef struct Parts {
  Kind kind;
  bool negative;
  uint64_t significand;
  int exponent;
} Parts;

/* 0: the type has no negative numbers. */
static uint64_t sign_bit(CtDtype t) {
  return (uint64_t)formats[t].has_sign << (ct_dtypes[t].bits - 1);
}

static Parts take_apart(CtDtype t, uint64_t bits) {
  const CtFormat *f = &formats[t];
  uint64_t pattern = bits >> f->shift & CT_ONES(ct_dtypes[t].exponent + f->fraction);
  uint64_t fraction = pattern & (((uint64_t)1 << f->fraction) - 1);
  int exponent = (int)(pattern >> f->fraction);
  Parts p = {.negative = (bits & sign_bit(t)) != 0};
  if (pattern > f->max) {
    p.kind = f->has_inf && fraction == 0 ? INFINITE : NOT_A_NUMBER;
  } else if (f->is_scale) {
    p.significand = 1;
    p.exponent = exponent - f->bias;
  } else if (exponent == 0) {
    p.significand = fraction;
    p.exponent = 1 - f->bias - f->fraction;
  } else {
    p.significand = fraction | (uint64_t)1 << f->fraction;
    p.exponent = exponent - f->bias - f->fraction;
  }
  return p;
}

/* v / 2^n, rounded; n > 0. */
static uint64_t drop_bits(uint64_t v, int n, bool ties_away) {
  if (n > 64) {
    return 0;
  }
  uint64_t kept = n == 64 ? 0 : v >> n;
  uint64_t half = (uint64_t)1 << (n - 1);
  uint64_t rest = n == 64 ? v : v & (half * 2 - 1);
  bool up = rest > half || (rest == half && (ties_away || (kept & 1) != 0));
  return kept + up;
}

/* The pattern without sign that is nearest to a finite number > 0. A carry out of the fraction counts
   the exponent up, as the pattern is laid out. */
static uint64_t nearest(const CtFormat *f, uint64_t significand, int exponent) {
  int top = 63 - __builtin_clzll(significand);
  int lowest = 1 - f->bias; /* exponent of the smallest normal number */
  int e = exponent + top;
  if (e > f->bias + 1) {
    return f->overflow;
  }
  int last = (e < lowest ? lowest : e) - f->fraction; /* exponent of the last fraction bit */
  int n = last - exponent;
  uint64_t q = n > 0 ? drop_bits(significand, n, f->ties_away) : significand << -n;
  uint64_t pattern = q + (e > lowest ? (uint64_t)(e - lowest) << f->fraction : 0);
  return pattern > f->max ? f->overflow : pattern;
}

/* The pattern of the least power of two that is not smaller than a finite number > 0. */
static uint64_t power_above(const CtFormat *f, uint64_t significand, int exponent) {
  int top = 63 - __builtin_clzll(significand);
  int e = exponent + top + ((significand & (significand - 1)) != 0) + f->bias;
  return e <= 0 ? 0 : (uint64_t)e > f->max ? f->overflow : (uint64_t)e;
}

static uint64_t pattern_of(const CtFormat *f, uint64_t significand, int exponent) {
  return significand == 0 ? 0
         : f->is_scale    ? power_above(f, significand, exponent)
                          : nearest(f, significand, exponent);
}

static uint64_t put_together(CtDtype t, Parts p) {
  const CtFormat *f = &formats[t];
  uint64_t pattern = 0;
  switch (p.kind) {
    case NOT_A_NUMBER: return f->nan << f->shift;
    case INFINITE: pattern = f->overflow; break;
    case FINITE: pattern = pattern_of(f, p.significand, p.exponent); break;
  }
  return pattern << f->shift | (p.negative ? sign_bit(t) : 0);
}

/* --- C numbers ------------------------------------------------------------------------------------ */

/* To f32: exact, or rounded from f64. With f32's own exponents a type is its upper part. */
static uint32_t to_f32(CtDtype from, uint64_t bits) {
  if (from == CT_f64) {
    return ct_bits_of_f32((float)ct_f64_of_bits(bits));
  }
  return ct_dtypes[from].exponent == ct_dtypes[CT_f32].exponent && !formats[from].is_scale
             ? (uint32_t)bits << (32 - ct_dtypes[from].bits)
             : (uint32_t)put_together(CT_f32, take_apart(from, bits));
}

double ct_float_of_bits(CtDtype from, uint64_t bits) {
  return from == CT_f64 ? ct_f64_of_bits(bits) : (double)ct_f32_of_bits(to_f32(from, bits));
}

uint64_t ct_bits_of_float(CtDtype to, double v) {
  return to == CT_f64   ? ct_bits_of_f64(v)
         : to == CT_f32 ? ct_bits_of_f32((float)v)
                        : put_together(to, take_apart(CT_f64, ct_bits_of_f64(v)));
}

int64_t ct_int_of_bits(CtDtype from, uint64_t bits) { return ct_dtype_wrap(from, (int64_t)bits); }

uint64_t ct_bits_of_int(CtDtype to, int64_t v) {
  uint64_t mask = ct_dtypes[to].bits == 64 ? UINT64_MAX : ((uint64_t)1 << ct_dtypes[to].bits) - 1;
  return (uint64_t)ct_dtype_wrap(to, v) & mask;
}

double ct_round_float(CtDtype to, double v) {
  return to == CT_f64 ? v : ct_float_of_bits(to, ct_bits_of_float(to, v));
}

int64_t ct_truncate_float(CtDtype to, double v) {
  double end = ldexp(1.0, ct_dtypes[to].bits - !ct_is_unsigned(to)); /* the first beyond */
  if (isnan(v)) {
    return 0;
  }
  if (ct_is_unsigned(to)) {
    if (v >= end) {
      return to == CT_u64 ? -1 : ct_dtype_max(to);
    }
    return v <= 0 ? 0 : (int64_t)(uint64_t)v;
  }
  if (v >= end) {
    return ct_dtype_max(to);
  }
  return v <= -end ? ct_dtype_min(to) : (int64_t)v;
}

static uint64_t round_int(CtDtype to, CtDtype from, int64_t v) {
  bool negative = v < 0 && from != CT_u64;
  uint64_t size = negative ? 0 - (uint64_t)v : (uint64_t)v;
  return put_together(to, (Parts){.negative = negative, .significand = size});
}

double ct_round_int(CtDtype to, CtDtype from, int64_t v) {
  return ct_float_of_bits(to, round_int(to, from, v));
}

/* --- all pairs --------------------------------------------------------------------------------------- */

static uint64_t from_float(CtDtype to, CtDtype from, uint64_t bits) {
  if (to == CT_bool) {
    return ct_float_of_bits(from, bits) != 0;
  }
  if (ct_is_int(to)) {
    return ct_bits_of_int(to, ct_truncate_float(to, ct_float_of_bits(from, bits)));
  }
  return to == CT_f32   ? to_f32(from, bits)
         : to == CT_f64 ? ct_bits_of_f64(ct_float_of_bits(from, bits))
                        : put_together(to, take_apart(from, bits));
}

uint64_t ct_convert(CtDtype to, CtDtype from, uint64_t bits) {
  if (to == from) {
    return bits;
  }
  if (ct_is_float(from)) { /* a tf32 is an f32, with all its bits */
    return from_float(to, from == CT_tf32 ? CT_f32 : from, bits);
  }
  int64_t v = ct_int_of_bits(from, bits);
  return ct_is_float(to) ? round_int(to, from, v) : ct_bits_of_int(to, v);
}
