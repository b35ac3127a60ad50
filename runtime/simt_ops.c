/* simt_ops.c: handlers of the CPU engine's scalar and lane instructions (simt_ops.def). Compiled
   once per instruction set: CT_SIMT_BASE, CT_SIMT_AVX2 or CT_SIMT_AVX512 says which table this is.

   Lane loops carry no dependence (an operand's slot is the result's, or apart from it), which the
   pragma tells the compiler. Pure operations work on all lanes, active or not. */
#include "simt_ops.h"

#include <string.h>

#include "simt_narrow.h"
#include "simt_scalar.h"
#include "simt_vec.h"

#if defined(CT_SIMT_AVX512)
#define TABLE_NAME ct_simt_ops_avx512
#elif defined(CT_SIMT_AVX2)
#define TABLE_NAME ct_simt_ops_avx2
#else
#define TABLE_NAME ct_simt_ops_base
#endif

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop of libm calls stays one */
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < CT_LANES; i++)
#else
#define LANES _Pragma("GCC ivdep") for (int i = 0; i < CT_LANES; i++)
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define HANDLER(name) static const CtIn *name(const CtIn *in, CtWarp *w)
#define SCALAR(at) (CT_AT(CtScalar, w, (at)))
#define MASK(at) (*CT_AT(uint32_t, w, (at)))

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

/* Narrow types: lanes and scalars hold bits. */
#define NARROW(t)                                                                                  \
  typedef uint32_t CtT_##t;                                                                        \
  static inline uint32_t get_##t(const CtScalar *s) { return (uint32_t)s->i; }                     \
  static inline void put_##t(CtScalar *s, uint32_t v) { s->i = v; }
NARROW(f16)
NARROW(bf16)
NARROW(f8e4m3)
NARROW(f8e5m2)
NARROW(i16)
NARROW(i8)
typedef uint32_t CtT_tf32;
static inline void put_tf32(CtScalar *s, uint32_t v) { s->f32 = ct_narrow_f32(v); }

/* Lane i's bit of a mask, as the vectoriser likes it. */
static const uint32_t lane_bits[CT_LANES] = {
#define BITS4(n) 1u << (n), 1u << ((n) + 1), 1u << ((n) + 2), 1u << ((n) + 3)
    BITS4(0),  BITS4(4),  BITS4(8), BITS4(12), BITS4(16),
    BITS4(20), BITS4(24), BITS4(28)
#undef BITS4
};

/* --- arithmetic --------------------------------------------------------------------------------- */

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

/* A zero divisor in an active lane is an error; the other lanes divide by 1 instead. */
#define HAS_ZERO(t)                                                                                \
  static bool has_zero_##t(const CtWarp *w, const CtT_##t *b, int *lane) {                         \
    uint32_t zeros = 0;                                                                            \
    LANES { zeros |= b[i] == 0 ? lane_bits[i] : 0; }                                               \
    zeros &= w->mask;                                                                              \
    *lane = zeros != 0 ? ct_first_lane(zeros) : 0;                                                 \
    return zeros != 0;                                                                             \
  }
HAS_ZERO(i64)
HAS_ZERO(i32)
HAS_ZERO(u64)
HAS_ZERO(u32)

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

#define FMA_FORM(t, form, ADECL, AUSE, BDECL, BUSE, CDECL, CUSE)                                   \
  HANDLER(FMA_##t##_##form) {                                                                      \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    const CtT_##t ADECL(t, a), BDECL(t, b), CDECL(t, c);                                           \
    LANES { d[i] = FMA_##t(AUSE(a), BUSE(b), CUSE(c)); }                                           \
    return in + 1;                                                                                 \
  }
#define DECL_V(t, x) *x = CT_AT(CtT_##t, w, in->x)
#define DECL_S(t, x) x = get_##t(SCALAR(in->x))
#define USE_V(x) x[i]
#define USE_S(x) x
#define FMA(t)                                                                                     \
  HANDLER(FMA_##t##_sss) {                                                                         \
    put_##t(SCALAR(in->d),                                                                         \
            FMA_##t(get_##t(SCALAR(in->a)), get_##t(SCALAR(in->b)), get_##t(SCALAR(in->c))));      \
    return in + 1;                                                                                 \
  }                                                                                                \
  FMA_FORM(t, vvv, DECL_V, USE_V, DECL_V, USE_V, DECL_V, USE_V)                                    \
  FMA_FORM(t, vsv, DECL_V, USE_V, DECL_S, USE_S, DECL_V, USE_V)                                    \
  FMA_FORM(t, vvs, DECL_V, USE_V, DECL_V, USE_V, DECL_S, USE_S)                                    \
  FMA_FORM(t, vss, DECL_V, USE_V, DECL_S, USE_S, DECL_S, USE_S)

#define X(name, roles)
#include "simt_ops.def"

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
  put_u32(SCALAR(in->d), ct_narrow_bits32(SCALAR(in->a)->f32));
  return in + 1;
}
HANDLER(BITCAST_f32_i32) {
  SCALAR(in->d)->f32 = ct_narrow_f32(get_u32(SCALAR(in->a)));
  return in + 1;
}

/* --- booleans and selection ---------------------------------------------------------------------- */

#define SCALAR_BOOL(name, expr)                                                                    \
  HANDLER(name) {                                                                                  \
    int64_t a = SCALAR(in->a)->i, b = SCALAR(in->b)->i;                                            \
    SCALAR(in->d)->i = (expr);                                                                     \
    return in + 1;                                                                                 \
  }
#define MASK_BOOL(name, expr)                                                                      \
  HANDLER(name) {                                                                                  \
    uint32_t a = MASK(in->a), b = MASK(in->b);                                                     \
    MASK(in->d) = (expr);                                                                          \
    return in + 1;                                                                                 \
  }
SCALAR_BOOL(LAND_s, a &b)
SCALAR_BOOL(LOR_s, a | b)
MASK_BOOL(LAND_m, a &b)
MASK_BOOL(LOR_m, a | b)
MASK_BOOL(LT_m, ~a &b)
MASK_BOOL(LE_m, ~a | b)
MASK_BOOL(EQ_m, ~(a ^ b))
MASK_BOOL(NE_m, a ^ b)

HANDLER(LNOT_s) {
  SCALAR(in->d)->i = SCALAR(in->a)->i == 0;
  return in + 1;
}
HANDLER(LNOT_m) {
  MASK(in->d) = ~MASK(in->a);
  return in + 1;
}

HANDLER(SELECT_s) {
  *SCALAR(in->d) = *SCALAR(SCALAR(in->a)->i != 0 ? in->b : in->c);
  return in + 1;
}
HANDLER(SELECT_4m) {
  uint32_t m = MASK(in->a);
  int32_t *d = CT_AT(int32_t, w, in->d);
  const int32_t *b = CT_AT(int32_t, w, in->b), *c = CT_AT(int32_t, w, in->c);
  LANES {
    int32_t x = b[i], y = c[i];
    d[i] = (m & lane_bits[i]) != 0 ? x : y;
  }
  return in + 1;
}
HANDLER(SELECT_8m) {
  uint32_t m = MASK(in->a);
  int64_t *d = CT_AT(int64_t, w, in->d);
  const int64_t *b = CT_AT(int64_t, w, in->b), *c = CT_AT(int64_t, w, in->c);
  LANES {
    int64_t x = b[i], y = c[i];
    d[i] = (m & lane_bits[i]) != 0 ? x : y;
  }
  return in + 1;
}
HANDLER(SELECT_1m) {
  uint32_t m = MASK(in->a);
  MASK(in->d) = (m & MASK(in->b)) | (~m & MASK(in->c));
  return in + 1;
}
HANDLER(SELECT_4s) {
  memmove(CT_AT(char, w, in->d), CT_AT(char, w, SCALAR(in->a)->i != 0 ? in->b : in->c),
          4 * CT_LANES);
  return in + 1;
}
HANDLER(SELECT_8s) {
  memmove(CT_AT(char, w, in->d), CT_AT(char, w, SCALAR(in->a)->i != 0 ? in->b : in->c),
          8 * CT_LANES);
  return in + 1;
}
HANDLER(SELECT_1s) {
  MASK(in->d) = MASK(SCALAR(in->a)->i != 0 ? in->b : in->c);
  return in + 1;
}

/* --- moves ---------------------------------------------------------------------------------------- */

HANDLER(SPLAT_4f) {
  float *d = CT_AT(float, w, in->d), a = SCALAR(in->a)->f32;
  LANES { d[i] = a; }
  return in + 1;
}
HANDLER(SPLAT_4i) {
  int32_t *d = CT_AT(int32_t, w, in->d), a = (int32_t)SCALAR(in->a)->i;
  LANES { d[i] = a; }
  return in + 1;
}
HANDLER(SPLAT_8) {
  int64_t *d = CT_AT(int64_t, w, in->d), a = SCALAR(in->a)->i;
  LANES { d[i] = a; }
  return in + 1;
}
HANDLER(SPLAT_1) {
  MASK(in->d) = SCALAR(in->a)->i != 0 ? CT_ALL_LANES : 0;
  return in + 1;
}
HANDLER(MOVE_s) {
  *SCALAR(in->d) = *SCALAR(in->a);
  return in + 1;
}
HANDLER(MOVE_4) {
  memmove(CT_AT(char, w, in->d), CT_AT(char, w, in->a), 4 * CT_LANES);
  return in + 1;
}
HANDLER(MOVE_8) {
  memmove(CT_AT(char, w, in->d), CT_AT(char, w, in->a), 8 * CT_LANES);
  return in + 1;
}
HANDLER(MOVE_1) {
  MASK(in->d) = MASK(in->a);
  return in + 1;
}
HANDLER(SET_4) {
  uint32_t m = w->mask;
  int32_t *d = CT_AT(int32_t, w, in->d);
  const int32_t *a = CT_AT(int32_t, w, in->a);
  LANES {
    int32_t x = a[i], y = d[i];
    d[i] = (m & lane_bits[i]) != 0 ? x : y;
  }
  return in + 1;
}
HANDLER(SET_8) {
  uint32_t m = w->mask;
  int64_t *d = CT_AT(int64_t, w, in->d);
  const int64_t *a = CT_AT(int64_t, w, in->a);
  LANES {
    int64_t x = a[i], y = d[i];
    d[i] = (m & lane_bits[i]) != 0 ? x : y;
  }
  return in + 1;
}
HANDLER(SET_1) {
  MASK(in->d) = (MASK(in->a) & w->mask) | (MASK(in->d) & ~w->mask);
  return in + 1;
}

/* --- addresses ------------------------------------------------------------------------------------ */

HANDLER(LEA_i64) {
  SCALAR(in->d)->i = ADD_i64(SCALAR(in->a)->i, MUL_i64(SCALAR(in->b)->i, in->imm));
  return in + 1;
}
HANDLER(LEA_i32) {
  int64_t r = ADD_i64(SCALAR(in->a)->i, MUL_i64(SCALAR(in->b)->i, in->imm));
  SCALAR(in->d)->i = CAST_i32_i64(r);
  return in + 1;
}
HANDLER(PATTERN_i32) {
  ct_simt_pattern_i32(CT_AT(int32_t, w, in->a), CT_AT(CtPattern, w, in->d));
  return in + 1;
}
HANDLER(PATTERN_i64) {
  ct_simt_pattern_i64(CT_AT(int64_t, w, in->a), CT_AT(CtPattern, w, in->d));
  return in + 1;
}
HANDLER(TABLE) {
  const CtTileMode *m = &w->worker->job->program->modes[in->imm];
  ct_simt_table_fill(w, m, CT_AT(CtTable, w, in->d));
  return in + 1;
}

/* --- memory --------------------------------------------------------------------------------------- */

/* The instruction's buffer number carries a flag in its top bit: offsets wrap around at 32 bits. */
enum { WRAPS = 31 };
static inline uint32_t buf_of(const CtIn *in) { return in->c & ~(1u << WRAPS); }
static inline int64_t wrapped(const CtIn *in, int64_t off) {
  return in->c >> WRAPS != 0 ? CAST_i32_i64(off) : off;
}
static inline int64_t scalar_base(const CtIn *in, CtWarp *w) {
  return ADD_i64(SCALAR(in->a)->i, in->imm);
}

/* Are all lanes of the pattern inside? Exact: see CtPattern. */
static inline bool is_inside(const CtPattern *p, int64_t base, int64_t n) {
  return (uint64_t)ADD_i64(base, p->lo) < (uint64_t)n &&
         (uint64_t)ADD_i64(base, p->hi) < (uint64_t)n;
}

#define LOAD_U(t, T, PUT)                                                                          \
  HANDLER(LOAD_##t##_u) {                                                                          \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t off = wrapped(in, scalar_base(in, w));                                                 \
    if ((uint64_t)off >= (uint64_t)m->n) {                                                         \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    T v;                                                                                           \
    memcpy(&v, m->ptr + off * (int64_t)sizeof v, sizeof v);                                        \
    PUT;                                                                                           \
    return in + 1;                                                                                 \
  }
LOAD_U(f64, double, SCALAR(in->d)->f64 = v)
LOAD_U(f32, float, SCALAR(in->d)->f32 = v)
LOAD_U(i64, int64_t, SCALAR(in->d)->i = v)
LOAD_U(i32, int32_t, SCALAR(in->d)->i = v)
LOAD_U(b, uint8_t, SCALAR(in->d)->i = v != 0)
LOAD_U(u16, uint16_t, SCALAR(in->d)->i = v)
LOAD_U(u8, uint8_t, SCALAR(in->d)->i = v)

/* Offsets of the lanes, for the general path. */
static void offsets_p(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  const CtPattern *p = CT_AT(CtPattern, w, in->b);
  int64_t base = scalar_base(in, w);
  for (int i = 0; i < CT_LANES; i++) {
    off[i] = wrapped(in, ADD_i64(base, p->pos[i]));
  }
}
static void offsets_i32(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  const int32_t *v = CT_AT(int32_t, w, in->b);
  LANES { off[i] = v[i]; }
}
static void offsets_i64(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  memcpy(off, CT_AT(int64_t, w, in->b), CT_LANES * sizeof *off);
}

/* The first active lane that is outside, or -1. */
static inline int find_outside(const CtWarp *w, const CtMem *m, const int64_t off[CT_LANES]) {
  uint32_t outside = 0;
  uint64_t n = (uint64_t)m->n;
  LANES { outside |= (uint64_t)off[i] >= n ? lane_bits[i] : 0; }
  outside &= w->mask;
  return outside != 0 ? ct_first_lane(outside) : -1;
}

/* Do the lanes lie side by side in memory? */
static inline bool is_run(const CtMem *m, const int64_t off[CT_LANES]) {
  int64_t wrong = 0;
  LANES { wrong |= (off[i] - i) ^ off[0]; }
  return wrong == 0 && m->lane_bytes == 0;
}

static inline char *address(const CtMem *m, int64_t off, int lane) {
  return m->ptr + off * (int64_t)m->elem_bytes + (int64_t)lane * (int64_t)m->lane_bytes;
}

/* The general path: every active lane checked, then moved. Inlined where `bytes` is known. */
ALWAYS_INLINE const CtIn *load_lanes(const CtIn *in, CtWarp *w, size_t bytes,
                                     const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  char *d = CT_AT(char, w, in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);
  }
  if (w->mask == CT_ALL_LANES && is_run(m, off)) {
    memcpy(d, m->ptr + off[0] * (int64_t)bytes, bytes * CT_LANES);
    return in + 1;
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(d + (size_t)lane * bytes, address(m, off[lane], lane), bytes);
  }
  return in + 1;
}
static const CtIn *load_mask(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);
  }
  uint32_t bits = 0;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bits |= *address(m, off[lane], lane) != 0 ? lane_bits[lane] : 0;
  }
  MASK(in->d) = bits;
  return in + 1;
}
ALWAYS_INLINE const CtIn *store_lanes(const CtIn *in, CtWarp *w, size_t bytes,
                                      const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  const char *d = CT_AT(char, w, in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);
  }
  if (w->mask == CT_ALL_LANES && is_run(m, off)) {
    memcpy(m->ptr + off[0] * (int64_t)bytes, d, bytes * CT_LANES);
    return in + 1;
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(address(m, off[lane], lane), d + (size_t)lane * bytes, bytes);
  }
  return in + 1;
}
static const CtIn *store_mask(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  uint32_t bits = MASK(in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    *address(m, off[lane], lane) = (bits & lane_bits[lane]) != 0;
  }
  return in + 1;
}

/* All lanes' elements are inside: no check, and no mask, as reading harms nothing. */
#define LOAD_P(bytes, T)                                                                           \
  HANDLER(LOAD_##bytes##_p) {                                                                      \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    T *d = CT_AT(T, w, in->d);                                                                     \
    if (!is_inside(p, base, m->n)) {                                                               \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return load_lanes(in, w, bytes, off);                                                        \
    }                                                                                              \
    const T *s = (const T *)(const void *)m->ptr + base;                                           \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      memcpy(d, s + p->pos[0], bytes * CT_LANES);                                                  \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        memcpy(d + c, s + p->pos[c], bytes * 8);                                                   \
      }                                                                                            \
    } else if (p->kind[3] == CT_SAME) {                                                            \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        T v = s[p->pos[c]];                                                                        \
        for (int i = 0; i < 8; i++) {                                                              \
          d[c + i] = v;                                                                            \
        }                                                                                          \
      }                                                                                            \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        d[i] = s[p->pos[i]];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##bytes##_p) {                                                                     \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    const T *d = CT_AT(T, w, in->d);                                                               \
    if (w->mask != CT_ALL_LANES || !is_inside(p, base, m->n)) {                                    \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return store_lanes(in, w, bytes, off);                                                       \
    }                                                                                              \
    T *s = (T *)(void *)m->ptr + base;                                                             \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      memcpy(s + p->pos[0], d, bytes * CT_LANES);                                                  \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        memcpy(s + p->pos[c], d + c, bytes * 8);                                                   \
      }                                                                                            \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        s[p->pos[i]] = d[i];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
/* Elements are only moved; may_alias makes it right for floats too. */
typedef uint32_t __attribute__((may_alias)) Word4;
typedef uint64_t __attribute__((may_alias)) Word8;
LOAD_P(4, Word4)
LOAD_P(8, Word8)

HANDLER(LOAD_1_p) {
  int64_t off[CT_LANES];
  offsets_p(in, w, off);
  return load_mask(in, w, off);
}
HANDLER(STORE_1_p) {
  int64_t off[CT_LANES];
  offsets_p(in, w, off);
  return store_mask(in, w, off);
}

#define LOAD_V(t)                                                                                  \
  HANDLER(LOAD_4_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_lanes(in, w, 4, off);                                                              \
  }                                                                                                \
  HANDLER(LOAD_8_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_lanes(in, w, 8, off);                                                              \
  }                                                                                                \
  HANDLER(LOAD_1_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_mask(in, w, off);                                                                  \
  }                                                                                                \
  HANDLER(STORE_4_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_lanes(in, w, 4, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_8_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_lanes(in, w, 8, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_1_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_mask(in, w, off);                                                                 \
  }
LOAD_V(i32)
LOAD_V(i64)

/* A row of registers: element `off` of every lane. NULL when outside. */
static char *row(const CtIn *in, CtWarp *w, int64_t *off) {
  const CtMem *m = &w->mem[buf_of(in)];
  *off = wrapped(in, scalar_base(in, w));
  return (uint64_t)*off < (uint64_t)m->n ? m->ptr + *off * (int64_t)m->elem_bytes : NULL;
}

#define ROW(bytes, T)                                                                              \
  HANDLER(LOAD_##bytes##_r) {                                                                      \
    int64_t off;                                                                                   \
    const char *s = row(in, w, &off);                                                              \
    if (s == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    memcpy(CT_AT(char, w, in->d), s, bytes *CT_LANES);                                             \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##bytes##_r) {                                                                     \
    int64_t off;                                                                                   \
    T *d = (T *)(void *)row(in, w, &off);                                                          \
    const T *s = CT_AT(T, w, in->d);                                                               \
    uint32_t m = w->mask;                                                                          \
    if (d == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(m), buf_of(in), off, true);                  \
    }                                                                                              \
    LANES {                                                                                        \
      T x = s[i], y = d[i];                                                                        \
      d[i] = (m & lane_bits[i]) != 0 ? x : y;                                                      \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
ROW(4, Word4)
ROW(8, Word8)

HANDLER(LOAD_1_r) {
  int64_t off;
  const char *s = row(in, w, &off);
  if (s == NULL) {
    return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);
  }
  uint32_t bits = 0;
  LANES { bits |= s[i] != 0 ? lane_bits[i] : 0; }
  MASK(in->d) = bits;
  return in + 1;
}
HANDLER(STORE_1_r) {
  int64_t off;
  char *d = row(in, w, &off);
  if (d == NULL) {
    return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, true);
  }
  uint32_t bits = MASK(in->d), m = w->mask;
  for (int i = 0; i < CT_LANES; i++) {
    d[i] = (m & lane_bits[i]) != 0 ? (bits & lane_bits[i]) != 0 : d[i];
  }
  return in + 1;
}

/* --- memory of narrow elements -------------------------------------------------------------------- */

/* Elements of T, their bits in lanes of 4 bytes. The general path as load_lanes and store_lanes. */
#define NARROW_MEMORY(t, T)                                                                        \
  static const CtIn *load_lanes_##t(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {      \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    int bad = find_outside(w, m, off);                                                             \
    if (bad >= 0) {                                                                                \
      return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);                         \
    }                                                                                              \
    for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {                                   \
      int lane = ct_first_lane(rest);                                                              \
      T v;                                                                                         \
      memcpy(&v, address(m, off[lane], lane), sizeof v);                                           \
      d[lane] = v;                                                                                 \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  static const CtIn *store_lanes_##t(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {     \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    const uint32_t *d = CT_AT(uint32_t, w, in->d);                                                 \
    int bad = find_outside(w, m, off);                                                             \
    if (bad >= 0) {                                                                                \
      return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);                          \
    }                                                                                              \
    for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {                                   \
      int lane = ct_first_lane(rest);                                                              \
      T v = (T)d[lane];                                                                            \
      memcpy(address(m, off[lane], lane), &v, sizeof v);                                           \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LOAD_##t##_p) {                                                                          \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    if (!is_inside(p, base, m->n)) {                                                               \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return load_lanes_##t(in, w, off);                                                           \
    }                                                                                              \
    const T *s = (const T *)(const void *)m->ptr + base;                                           \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      s += p->pos[0];                                                                              \
      LANES { d[i] = s[i]; }                                                                       \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        d[i] = s[p->pos[i]];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##t##_p) {                                                                         \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    const uint32_t *d = CT_AT(uint32_t, w, in->d);                                                 \
    if (w->mask != CT_ALL_LANES || !is_inside(p, base, m->n)) {                                    \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return store_lanes_##t(in, w, off);                                                          \
    }                                                                                              \
    T *s = (T *)(void *)m->ptr + base;                                                             \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      s += p->pos[0];                                                                              \
      LANES { s[i] = (T)d[i]; }                                                                    \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        s[p->pos[i]] = (T)d[i];                                                                    \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LOAD_##t##_i32) {                                                                        \
    int64_t off[CT_LANES];                                                                         \
    offsets_i32(in, w, off);                                                                       \
    return load_lanes_##t(in, w, off);                                                             \
  }                                                                                                \
  HANDLER(LOAD_##t##_i64) {                                                                        \
    int64_t off[CT_LANES];                                                                         \
    offsets_i64(in, w, off);                                                                       \
    return load_lanes_##t(in, w, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_##t##_i32) {                                                                       \
    int64_t off[CT_LANES];                                                                         \
    offsets_i32(in, w, off);                                                                       \
    return store_lanes_##t(in, w, off);                                                            \
  }                                                                                                \
  HANDLER(STORE_##t##_i64) {                                                                       \
    int64_t off[CT_LANES];                                                                         \
    offsets_i64(in, w, off);                                                                       \
    return store_lanes_##t(in, w, off);                                                            \
  }                                                                                                \
  HANDLER(LOAD_##t##_r) {                                                                          \
    int64_t off;                                                                                   \
    const T *s = (const T *)(const void *)row(in, w, &off);                                        \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    if (s == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    LANES { d[i] = s[i]; }                                                                         \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##t##_r) {                                                                         \
    int64_t off;                                                                                   \
    T *d = (T *)(void *)row(in, w, &off);                                                          \
    const uint32_t *s = CT_AT(uint32_t, w, in->d);                                                 \
    uint32_t m = w->mask;                                                                          \
    if (d == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(m), buf_of(in), off, true);                  \
    }                                                                                              \
    LANES {                                                                                        \
      T y = d[i];                                                                                  \
      d[i] = (m & lane_bits[i]) != 0 ? (T)s[i] : y;                                                \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
typedef uint16_t __attribute__((may_alias)) Word2;
typedef uint8_t __attribute__((may_alias)) Word1;
NARROW_MEMORY(u16, Word2)
NARROW_MEMORY(u8, Word1)

/* --- structure ------------------------------------------------------------------------------------ */

static inline const CtIn *jump(const CtIn *in) { return in + (int32_t)in->c; }

/* The back edge of a loop. */
static inline const CtIn *again(const CtIn *in, CtWarp *w) {
  return in->imm == CT_SPIN_NOT ? jump(in) : ct_simt_spin(in, jump(in), w);
}

HANDLER(END) {
  (void)in;
  w->pc = NULL;
  return NULL;
}
HANDLER(JUMP) {
  (void)w;
  return jump(in);
}
HANDLER(IFNOT) { return SCALAR(in->d)->i != 0 ? in + 1 : jump(in); }
HANDLER(SAVE) {
  w->saved[in->d] = w->mask;
  return in + 1;
}
HANDLER(SPLIT) {
  w->saved[in->d] = w->mask;
  w->mask &= MASK(in->a);
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(SPLIT_ELSE) {
  w->saved[in->d] = w->mask;
  w->saved[in->d + 1] = w->mask & ~MASK(in->a);
  w->mask &= MASK(in->a);
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(JOIN) {
  w->mask = w->saved[in->d];
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(BREAK) {
  for (uint32_t r = in->d; r < in->a; r++) {
    w->saved[r] &= ~w->mask;
  }
  w->mask = 0;
  return jump(in);
}
HANDLER(EXIT) {
  w->live &= ~w->mask;
  return BREAK(in, w);
}

/* Iterations of a loop from a towards b, as an unsigned number: it can be 2^64 - 1. */
static inline uint64_t trips(int64_t a, int64_t b, int64_t step) {
  if (step > 0) {
    return a < b ? ((uint64_t)b - (uint64_t)a - 1) / (uint64_t)step + 1 : 0;
  }
  return a > b ? ((uint64_t)a - (uint64_t)b - 1) / (0 - (uint64_t)step) + 1 : 0;
}
HANDLER(TRIPS) {
  int64_t step = SCALAR(in->c)->i;
  if (step == 0) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STEP);
  }
  SCALAR(in->d)->i = (int64_t)trips(SCALAR(in->a)->i, SCALAR(in->b)->i, step);
  return in + 1;
}
HANDLER(NEXT) {
  if (w->mask == 0) {
    return in + 1;
  }
  if (ct_simt_stopping(w)) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);
  }
  CtScalar *left = SCALAR(in->a);
  if (--left->i == 0) {
    return in + 1;
  }
  SCALAR(in->d)->i = ADD_i64(SCALAR(in->d)->i, SCALAR(in->b)->i);
  return again(in, w);
}

#define LANE_LOOP(t)                                                                               \
  HANDLER(TRIPS_##t) {                                                                             \
    uint64_t *d = CT_AT(uint64_t, w, in->d);                                                       \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    const CtT_##t *c = CT_AT(CtT_##t, w, in->c);                                                   \
    int lane;                                                                                      \
    if (has_zero_##t(w, c, &lane)) {                                                               \
      return ct_simt_fail_kind(w, in, lane, CT_FAIL_STEP);                                         \
    }                                                                                              \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      d[i] = c[i] == 0 ? 0 : trips(a[i], b[i], c[i]);                                              \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LANES_NEXT_##t) {                                                                        \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    uint64_t *left = CT_AT(uint64_t, w, in->a);                                                    \
    const CtT_##t *b = CT_AT(CtT_##t, w, in->b);                                                   \
    uint32_t more = 0;                                                                             \
    if (w->mask != 0 && ct_simt_stopping(w)) {                                                     \
      return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);                    \
    }                                                                                              \
    LANES {                                                                                        \
      d[i] = ADD_##t(d[i], b[i]);                                                                  \
      left[i] -= 1;                                                                                \
      more |= left[i] != 0 ? lane_bits[i] : 0;                                                     \
    }                                                                                              \
    w->mask &= more;                                                                               \
    return w->mask != 0 ? again(in, w) : in + 1;                                                   \
  }
LANE_LOOP(i64)
LANE_LOOP(i32)

HANDLER(LANES_START) {
  const uint64_t *left = CT_AT(uint64_t, w, in->d);
  uint32_t some = 0;
  LANES { some |= left[i] != 0 ? lane_bits[i] : 0; }
  w->saved[in->a] = w->mask;
  w->mask &= some;
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(AGAIN) {
  if (w->mask == 0) {
    return in + 1;
  }
  if (ct_simt_stopping(w)) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);
  }
  return again(in, w);
}
HANDLER(SYNC_WARP) {
  (void)w;
  return in + 1;
}
#define CP_FENCE SYNC_WARP
#define CP_WAIT SYNC_WARP

HANDLER(BARRIER) {
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_BARRIER_LANES);
  }
  w->pc = in;
  w->is_waiting = true;
  return NULL;
}

const CtHandler TABLE_NAME[CT_SIMT_OP_COUNT] = {
/* Rows that share a handler, and those of simt_tile.c. */
#define SET_s MOVE_s
#define ELSE JOIN
#define TILE ct_simt_tile_slow
#define SHFL ct_simt_shfl
#define VOTE ct_simt_vote
#define ATOMIC ct_simt_atomic
#define FENCE ct_simt_fence
#define PRINT_ARG ct_simt_print_arg
#define PRINT ct_simt_printf
#define ASSERT ct_simt_assert
#define CLOCK ct_simt_clock
#define GUARD ct_simt_tile_guard
#define COPY_2 NULL
#define COPY_1 NULL
#define WIDEN_4 NULL
#define FILL_2 NULL
#define FILL_1 NULL
#define GEMM_i32 NULL
#define DOT_f64 NULL
#define DOT_f32 NULL
#define COPY_4 NULL
#define COPY_8 NULL
#define FILL_4 NULL
#define FILL_8 NULL
#define AXPBY_f64 NULL
#define AXPBY_f32 NULL
#define GEMM_f64 NULL
#define GEMM_f32 NULL
#define X(name, roles) [CT_SIMT_##name] = name,
#include "simt_ops.def"
};
