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

#define BIN(op, t)                                                                                 \
  HANDLER(op##_##t##_ss) {                                                                         \
    put_##t(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b))));              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vv) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    LANES { d[i] = op##_##t(a[i], b[i]); }                                                         \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vs) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), b = get_##t(SCALAR(in->b));                       \
    LANES { d[i] = op##_##t(a[i], b); }                                                            \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_sv) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t a = get_##t(SCALAR(in->a)), *b = CT_AT(CtT_##t, w, in->b);                       \
    LANES { d[i] = op##_##t(a, b[i]); }                                                            \
    return in + 1;                                                                                 \
  }

#define DIV_INT(op, t)                                                                             \
  HANDLER(op##_##t##_ss) {                                                                         \
    CtT_##t b = get_##t(SCALAR(in->b));                                                            \
    if (b == 0) {                                                                                  \
      return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_ZERO);                       \
    }                                                                                              \
    put_##t(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a)), b));                                   \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vv) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    int lane;                                                                                      \
    if (has_zero_##t(w, b, &lane)) {                                                               \
      return ct_simt_fail_kind(w, in, lane, CT_FAIL_ZERO);                                         \
    }                                                                                              \
    LANES { d[i] = op##_##t(a[i], b[i] == 0 ? 1 : b[i]); }                                         \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vs) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), b = get_##t(SCALAR(in->b));                       \
    if (b == 0) {                                                                                  \
      return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_ZERO);                       \
    }                                                                                              \
    LANES { d[i] = op##_##t(a[i], b); }                                                            \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_sv) {                                                                         \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t a = get_##t(SCALAR(in->a)), *b = CT_AT(CtT_##t, w, in->b);                       \
    int lane;                                                                                      \
    if (has_zero_##t(w, b, &lane)) {                                                               \
      return ct_simt_fail_kind(w, in, lane, CT_FAIL_ZERO);                                         \
    }                                                                                              \
    LANES { d[i] = op##_##t(a, b[i] == 0 ? 1 : b[i]); }                                            \
    return in + 1;                                                                                 \
  }

#define CMP(op, t)                                                                                 \
  HANDLER(op##_##t##_ss) {                                                                         \
    SCALAR(in->d)->i = op##_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)));                   \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vv) {                                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    uint32_t m = 0;                                                                                \
    LANES { m |= op##_##t(a[i], b[i]) ? lane_bits[i] : 0; }                                        \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_vs) {                                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), b = get_##t(SCALAR(in->b));                       \
    uint32_t m = 0;                                                                                \
    LANES { m |= op##_##t(a[i], b) ? lane_bits[i] : 0; }                                           \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_sv) {                                                                         \
    const CtT_##t a = get_##t(SCALAR(in->a)), *b = CT_AT(CtT_##t, w, in->b);                       \
    uint32_t m = 0;                                                                                \
    LANES { m |= op##_##t(a, b[i]) ? lane_bits[i] : 0; }                                           \
    MASK(in->d) = m;                                                                               \
    return in + 1;                                                                                 \
  }

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

#define UN(op, t)                                                                                  \
  HANDLER(op##_##t##_s) {                                                                          \
    put_##t(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a))));                                      \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_v) {                                                                          \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a);                                                   \
    LANES { d[i] = op##_##t(a[i]); }                                                               \
    return in + 1;                                                                                 \
  }

#define COUNT(op, t)                                                                               \
  HANDLER(op##_##t##_s) {                                                                          \
    put_i32(SCALAR(in->d), op##_##t(get_##t(SCALAR(in->a))));                                      \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(op##_##t##_v) {                                                                          \
    CtT_i32 *d = CT_AT(CtT_i32, w, in->d);                                                         \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a);                                                   \
    LANES { d[i] = op##_##t(a[i]); }                                                               \
    return in + 1;                                                                                 \
  }

#define CAST(t, f)                                                                                 \
  HANDLER(CAST_##t##_##f##_s) {                                                                    \
    put_##t(SCALAR(in->d), CAST_##t##_##f(get_##f(SCALAR(in->a))));                                \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(CAST_##t##_##f##_v) {                                                                    \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##f *a = CT_AT(CtT_##f, w, in->a);                                                   \
    LANES { d[i] = CAST_##t##_##f(a[i]); }                                                         \
    return in + 1;                                                                                 \
  }

#if CT_VEC_HAS_F16
#define CAST_F16(t, f)                                                                             \
  HANDLER(CAST_##t##_##f##_s) {                                                                    \
    put_##t(SCALAR(in->d), CAST_##t##_##f(get_##f(SCALAR(in->a))));                                \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(CAST_##t##_##f##_v) {                                                                    \
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
#define VEC_V(t, x) ct_vec_load_##t(x + i)
#define VEC_S(t, x) ct_vec_splat_##t(x)
#else
#define FMA_LANES(t, a, b, c)                                                                      \
  LANES { d[i] = FMA_##t(a, b, c); }
#define VEC_V(t, x) x[i]
#define VEC_S(t, x) x
#endif
#define FMA_FORM(t, form, ADECL, AUSE, BDECL, BUSE, CDECL, CUSE)                                   \
  HANDLER(FMA_##t##_##form) {                                                                      \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t ADECL(t, a), BDECL(t, b), CDECL(t, c);                                           \
    FMA_LANES(t, AUSE(t, a), BUSE(t, b), CUSE(t, c))                                               \
    return in + 1;                                                                                 \
  }
#define DECL_V(t, x) *x = CT_AT(CtT_##t, w, in->x)
#define DECL_S(t, x) x = get_##t(SCALAR(in->x))
#define FMA(t)                                                                                     \
  HANDLER(FMA_##t##_sss) {                                                                         \
    put_##t(SCALAR(in->d),                                                                         \
            FMA_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)), get_##t(SCALAR(in->c))));      \
    return in + 1;                                                                                 \
  }                                                                                                \
  FMA_FORM(t, vvv, DECL_V, VEC_V, DECL_V, VEC_V, DECL_V, VEC_V)                                    \
  FMA_FORM(t, vsv, DECL_V, VEC_V, DECL_S, VEC_S, DECL_V, VEC_V)                                    \
  FMA_FORM(t, vvs, DECL_V, VEC_V, DECL_V, VEC_V, DECL_S, VEC_S)                                    \
  FMA_FORM(t, vss, DECL_V, VEC_V, DECL_S, VEC_S, DECL_S, VEC_S)

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

#define TO_ODD(t)                                                                                  \
  HANDLER(ODD_##t##_s) {                                                                           \
    SCALAR(in->d)->f64 = ODD_##t(get_##t(SCALAR(in->a)));                                          \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(ODD_##t##_v) {                                                                           \
    double *d = CT_AT(double, w, in->d);                                                           \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a);                                                   \
    LANES { d[i] = ODD_##t(a[i]); }                                                                \
    return in + 1;                                                                                 \
  }
TO_ODD(i64)
TO_ODD(u64)

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
