/* simt_arith.c: handlers of the CPU engine's arithmetic, comparisons and conversions. A form says
   for each operand whether it is a scalar (s) or lanes (v). */
#include "simt_handler.h"
#include "simt_narrow.h"
#include "simt_vec.h"
#include "simt_word.h"

static inline double get_f64(const CtScalar *s) { return s->f64; }
static inline float get_f32(const CtScalar *s) { return s->f32; }
static inline int64_t get_i64(const CtScalar *s) { return s->i; }
static inline int32_t get_i32(const CtScalar *s) { return (int32_t)s->i; }
static inline void put_f64(CtScalar *s, double v) { s->f64 = v; }
static inline void put_f32(CtScalar *s, float v) { s->f32 = v; }
static inline void put_i64(CtScalar *s, int64_t v) { s->i = v; }
static inline void put_i32(CtScalar *s, int32_t v) { s->i = v; }
static inline uint64_t get_u64(const CtScalar *s) { return (uint64_t)s->i; }
static inline uint32_t get_u32(const CtScalar *s) { return (uint32_t)s->i; }
static inline void put_u64(CtScalar *s, uint64_t v) { s->i = (int64_t)v; }
static inline void put_u32(CtScalar *s, uint32_t v) { s->i = (int32_t)v; }

/* Narrow types: lanes and scalars hold bits. Clang wants to know that no row may use a function. */
#define ROW_MAY_USE static inline __attribute__((unused))
#define NARROW_SCALAR(t, ...)                                                                      \
  typedef uint32_t CtT_##t;                                                                        \
  ROW_MAY_USE uint32_t get_##t(const CtScalar *s) { return (uint32_t)s->i; }                       \
  ROW_MAY_USE void put_##t(CtScalar *s, uint32_t v) { s->i = v; }
#define NARROW NARROW_SCALAR
#define CUT(t, ...)                                                                                \
  typedef uint32_t CtT_##t;                                                                        \
  static inline void put_##t(CtScalar *s, uint32_t v) { s->f32 = ct_f32_of_bits(v); }
#include "runtime/base/dtypes.def"
NARROW_SCALAR(i16, )
NARROW_SCALAR(i8, ) /* u8 has casts alone, which need no functions of scalars */

/* An operand of each form: declared, and in lane i. */
#define DECL_v(t, x) *x = CT_AT(CtT_##t, w, in->x)
#define DECL_s(t, x) x = get_##t(SCALAR(in->x))
#define OF_v(x) x[i]
#define OF_s(x) x
/* The forms of two operands that are not both scalars. */
#define EACH_FORM(ROW, op, t) ROW(op, t, v, v) ROW(op, t, v, s) ROW(op, t, s, v)

#define BIN_LANES(op, t, A, B)                                                                     \
  HANDLER(op##_##t##_##A##B) {                                                                     \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t DECL_##A(t, a), DECL_##B(t, b);                                                  \
    LANES { d[i] = op##_##t(OF_##A(a), OF_##B(b)); }                                               \
    return in + 1;                                                                                 \
  }
#define BIN(op, t)                                                                                 \
  HANDLER(op##_##t##_ss) {                                                                         \
    put_##t(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b))));              \
    return in + 1;                                                                                 \
  }                                                                                                \
  EACH_FORM(BIN_LANES, op, t)

/* A division by 0 fails. Lanes that do not run divide by 1. */
#define REFUSE_ZERO_s(t)                                                                           \
  if (b == 0) {                                                                                    \
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_ZERO);                         \
  }
#define REFUSE_ZERO_v(t)                                                                           \
  int lane;                                                                                        \
  if (has_zero_##t(w, b, &lane)) {                                                                 \
    return ct_simt_fail_kind(w, in, lane, CT_FAIL_ZERO);                                           \
  }
#define DIVISOR_v(x) x[i] == 0 ? 1 : x[i]
#define DIVISOR_s(x) x
#define DIV_LANES(op, t, A, B)                                                                     \
  HANDLER(op##_##t##_##A##B) {                                                                     \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t DECL_##A(t, a), DECL_##B(t, b);                                                  \
    REFUSE_ZERO_##B(t) LANES { d[i] = op##_##t(OF_##A(a), DIVISOR_##B(b)); }                       \
    return in + 1;                                                                                 \
  }
#define DIV_INT(op, t)                                                                             \
  HANDLER(op##_##t##_ss) {                                                                         \
    CtT_##t b = get_##t(SCALAR(in->b));                                                            \
    REFUSE_ZERO_s(t) put_##t(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a)), b));                  \
    return in + 1;                                                                                 \
  }                                                                                                \
  EACH_FORM(DIV_LANES, op, t)

#define CMP_LANES(op, t, A, B)                                                                     \
  HANDLER(op##_##t##_##A##B) {                                                                     \
    const CtT_##t DECL_##A(t, a), DECL_##B(t, b);                                                  \
    uint32_t m = 0;                                                                                \
    LANES { m |= op##_##t(OF_##A(a), OF_##B(b)) ? lane_bits[i] : 0; }                              \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }
#define CMP(op, t)                                                                                 \
  HANDLER(op##_##t##_ss) {                                                                         \
    SCALAR(in->d)->i = op##_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)));                   \
    return in + 1;                                                                                 \
  }                                                                                                \
  EACH_FORM(CMP_LANES, op, t)

/* The lanes of a pattern lie between two numbers; if both compare alike, all lanes do. */
#define GT_i64(a, b) LT_i64(b, a)
#define GE_i64(a, b) LE_i64(b, a)
#define CMP_P(op, t)                                                                               \
  HANDLER(op##_##t##_p) {                                                                          \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    int64_t base = ADD_i64(SCALAR(in->a)->i, in->imm), bound = SCALAR(in->c)->i, lo, hi;           \
    if (p->lo <= p->hi && !ct_add_overflow(base, p->lo, &lo) &&                                    \
        !ct_add_overflow(base, p->hi, &hi) && lo == (CtT_##t)lo && hi == (CtT_##t)hi &&            \
        op##_i64(lo, bound) == op##_i64(hi, bound)) {                                              \
      MASK(in->d) = op##_i64(lo, bound) ? CT_ALL_LANES : 0;                                        \
      return in + 1;                                                                               \
    }                                                                                              \
    uint32_t m = 0;                                                                                \
    LANES { m |= op##_i64((CtT_##t)ADD_i64(base, p->pos[i]), bound) ? lane_bits[i] : 0; }          \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }

/* A function of one operand, from one type to another. */
#define ONE_s(name, to, from)                                                                      \
  HANDLER(name##_s) {                                                                              \
    put_##to(SCALAR(in->d), name(get_##from(SCALAR(in->a))));                                      \
    return in + 1;                                                                                 \
  }
#define ONE(name, to, from)                                                                        \
  ONE_s(name, to, from) HANDLER(name##_v) {                                                        \
    CtT_##to *d = CT_AT(CtT_##to, w, in->d);                                                       \
    const CtT_##from *a = CT_AT(CtT_##from, w, in->a);                                             \
    LANES { d[i] = name(a[i]); }                                                                   \
    return in + 1;                                                                                 \
  }
#define UN(op, t) ONE(op##_##t, t, t)
#define COUNT(op, t) ONE(op##_##t, i32, t)
#define CAST(t, f) ONE(CAST_##t##_##f, t, f)

#if CT_VEC_HAS_F16
#define CAST_F16(t, f)                                                                             \
  ONE_s(CAST_##t##_##f, t, f) HANDLER(CAST_##t##_##f##_v) {                                        \
    for (int i = 0; i < CT_LANES; i += CT_VEC_BYTES / 4) {                                         \
      ct_vec_CAST_##t##_##f(CT_AT(CtT_##t, w, in->d) + i, CT_AT(CtT_##f, w, in->a) + i);           \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
#endif

#define BOOLCAST(t)                                                                                \
  HANDLER(CAST_##t##_b_s) {                                                                        \
    put_##t(SCALAR(in->d), (CtT_##t)SCALAR(in->a)->i);                                             \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(CAST_##t##_b_v) {                                                                        \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    uint32_t m = MASK(in->a);                                                                      \
    LANES { d[i] = (m & lane_bits[i]) != 0 ? (CtT_##t)1 : (CtT_##t)0; }                            \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(CAST_b_##t##_s) {                                                                        \
    SCALAR(in->d)->i = get_##t(SCALAR(in->a)) != 0;                                                \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(CAST_b_##t##_v) {                                                                        \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a);                                                   \
    uint32_t m = 0;                                                                                \
    LANES { m |= a[i] != 0 ? lane_bits[i] : 0; }                                                   \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }

/* In vectors where that is more than one instruction. */
#if CT_VEC_SOFT_FMA
#define FMA_LANES(t, a, b, c)                                                                      \
  for (int i = 0; i < CT_LANES; i += (int)(CT_VEC_BYTES / sizeof(CtT_##t))) {                      \
    ct_vec_store_##t(d + i, ct_vec_fma_##t(a, b, c));                                              \
  }
#define VEC_v(t, x) ct_vec_load_##t(x + i)
#define VEC_s(t, x) ct_vec_splat_##t(x)
#else
#define FMA_LANES(t, a, b, c)                                                                      \
  LANES { d[i] = FMA_##t(a, b, c); }
#define VEC_v(t, x) OF_v(x)
#define VEC_s(t, x) OF_s(x)
#endif
#define FMA_FORM(t, A, B, C)                                                                       \
  HANDLER(FMA_##t##_##A##B##C) {                                                                   \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t DECL_##A(t, a), DECL_##B(t, b), DECL_##C(t, c);                                  \
    FMA_LANES(t, VEC_##A(t, a), VEC_##B(t, b), VEC_##C(t, c))                                      \
    return in + 1;                                                                                 \
  }
#define FMA(t)                                                                                     \
  HANDLER(FMA_##t##_sss) {                                                                         \
    put_##t(SCALAR(in->d),                                                                         \
            FMA_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)), get_##t(SCALAR(in->c))));      \
    return in + 1;                                                                                 \
  }                                                                                                \
  FMA_FORM(t, v, v, v) FMA_FORM(t, v, s, v) FMA_FORM(t, v, v, s) FMA_FORM(t, v, s, s)

/* A plain loop: clang cannot vectorise FMA_F16X2, and would say so of LANES. */
#define THREE(op, t)                                                                               \
  HANDLER(op##_##t##_s) {                                                                          \
    put_##t(SCALAR(in->d),                                                                         \
            op##_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)), get_##t(SCALAR(in->c))));     \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_v) {                                                                          \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    const CtT_##t *c = CT_AT(CtT_##t, w, in->c);                                                   \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      d[i] = op##_##t(a[i], b[i], c[i]);                                                           \
    }                                                                                              \
    return in + 1;                                                                                 \
  }

#define X(name, ...)
#include "runtime/simt/code/simt_arith.def"
#undef X

ONE(ODD_i64, f64, i64)
ONE(ODD_u64, f64, u64)

HANDLER(BITCAST_i32_f32) {
  put_u32(SCALAR(in->d), ct_bits_of_f32(SCALAR(in->a)->f32));
  return in + 1;
}
HANDLER(BITCAST_f32_i32) {
  SCALAR(in->d)->f32 = ct_f32_of_bits(get_u32(SCALAR(in->a)));
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(arith)[CT_SIMT_OP_COUNT] = {
#define X(name, ...) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_arith.def"
#undef X
};
