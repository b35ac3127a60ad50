/* simt_combine.c: sums and extremes of whole buffers; see simt_combine.h. */
#include "simt_combine.h"

#include <math.h>

#include "simt_narrow.h"

#define SUM(a, b) ((a) + (b))
#define INT_MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define INT_MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define SAME(x) (x)

typedef void Combine(void *dst, const void *src, int64_t n);

/* ctype: what memory holds; wide: what it is computed in; from, to: between the two. */
#define LOOP(name, ctype, wide, from, to, op)                                                      \
  static void name(void *dst, const void *src, int64_t n) {                                        \
    ctype *d = dst;                                                                                \
    const ctype *s = src;                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                              \
      wide a = from(d[i]), b = from(s[i]);                                                         \
      d[i] = (ctype)to(op(a, b));                                                                  \
    }                                                                                              \
  }

#define FLOAT_LOOPS(t, ctype, wide, from, to, max, min)                                            \
  LOOP(t##_sum, ctype, wide, from, to, SUM)                                                        \
  LOOP(t##_max, ctype, wide, from, to, max)                                                        \
  LOOP(t##_min, ctype, wide, from, to, min)
#define NARROW_LOOPS(t, ctype)                                                                     \
  FLOAT_LOOPS(t, ctype, float, CAST_f32_##t, CAST_##t##_f32, fmaxf, fminf)
/* Sums are those of the unsigned type, which wraps around. */
#define INT_LOOPS(t, ctype, utype)                                                                 \
  LOOP(t##_sum, utype, utype, SAME, SAME, SUM)                                                     \
  LOOP(t##_max, ctype, ctype, SAME, SAME, INT_MAX_OF)                                              \
  LOOP(t##_min, ctype, ctype, SAME, SAME, INT_MIN_OF)

FLOAT_LOOPS(f64, double, double, SAME, SAME, fmax, fmin)
FLOAT_LOOPS(f32, float, float, SAME, SAME, fmaxf, fminf)
#define CUT(...)
#define NARROW(t, bits, compute, cuda, ctype, ...) NARROW_LOOPS(t, ctype)
#include "runtime/base/dtypes.def"
INT_LOOPS(i64, int64_t, uint64_t)
INT_LOOPS(i32, int32_t, uint32_t)
INT_LOOPS(i16, int16_t, uint16_t)
INT_LOOPS(i8, int8_t, uint8_t)
INT_LOOPS(u64, uint64_t, uint64_t)
INT_LOOPS(u32, uint32_t, uint32_t)
INT_LOOPS(u16, uint16_t, uint16_t)
INT_LOOPS(u8, uint8_t, uint8_t)

#define LOOPS_FLOAT(...) __VA_ARGS__
#define LOOPS_INT(...) __VA_ARGS__
#define LOOPS_UINT(...) __VA_ARGS__
#define LOOPS_BOOL(...) NULL, u8_max, u8_min
static Combine *const loops[CT_DTYPE_COUNT][CT_N_COMBINES] = {
#define DTYPE(t, bits, kind, ...) [CT_##t] = {LOOPS_##kind(t##_sum, t##_max, t##_min)},
#define CUT(t, ...) [CT_##t] = {f32_sum, f32_max, f32_min},
#include "runtime/base/dtypes.def"
};

bool ct_combine(CtDtype dtype, CtCombine op, void *dst, const void *src, int64_t n) {
  Combine *loop = loops[dtype][op];
  if (loop != NULL && n > 0) {
    loop(dst, src, n);
  }
  return loop != NULL;
}
