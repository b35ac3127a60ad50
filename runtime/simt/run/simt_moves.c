/* simt_moves.c: handlers of the CPU engine that choose, move and broadcast values, including masks,
   and handlers that make addresses. */
#include "simt_handler.h"

#include <string.h>

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
/* Each lane takes what it has in the slot `yes` if its bit of the mask is set, else in the slot `no`. */
#define CHOOSE(NAME, T, mask_bits, yes, no)                                                        \
  HANDLER(NAME) {                                                                                  \
    uint32_t m = mask_bits;                                                                        \
    T *d = CT_AT(T, w, in->d);                                                                     \
    const T *x = CT_AT(T, w, yes), *y = CT_AT(T, w, no);                                           \
    LANES {                                                                                        \
      T a = x[i], b = y[i];                                                                        \
      d[i] = (m & lane_bits[i]) != 0 ? a : b;                                                      \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
CHOOSE(SELECT_4m, int32_t, MASK(in->a), in->b, in->c)
CHOOSE(SELECT_8m, int64_t, MASK(in->a), in->b, in->c)
HANDLER(SELECT_1m) {
  uint32_t m = MASK(in->a);
  MASK(in->d) = (m & MASK(in->b)) | (~m & MASK(in->c));
  return in + 1;
}
/* All lanes of so many bytes. */
#define MOVE_LANES(NAME, bytes, from)                                                              \
  HANDLER(NAME) {                                                                                  \
    memmove(CT_AT(char, w, in->d), CT_AT(char, w, from), (bytes)*CT_LANES);                        \
    return in + 1;                                                                                 \
  }
MOVE_LANES(SELECT_4s, 4, SCALAR(in->a)->i != 0 ? in->b : in->c)
MOVE_LANES(SELECT_8s, 8, SCALAR(in->a)->i != 0 ? in->b : in->c)
HANDLER(SELECT_1s) {
  MASK(in->d) = MASK(SCALAR(in->a)->i != 0 ? in->b : in->c);
  return in + 1;
}

/* --- moves ---------------------------------------------------------------------------------------- */

#define SPLAT(NAME, T, value)                                                                      \
  HANDLER(NAME) {                                                                                  \
    T *d = CT_AT(T, w, in->d), a = (T)SCALAR(in->a)->value;                                        \
    LANES { d[i] = a; }                                                                            \
    return in + 1;                                                                                 \
  }
SPLAT(SPLAT_4f, float, f32)
SPLAT(SPLAT_4i, int32_t, i)
SPLAT(SPLAT_8, int64_t, i)
HANDLER(SPLAT_1) {
  MASK(in->d) = SCALAR(in->a)->i != 0 ? CT_ALL_LANES : 0;
  return in + 1;
}
HANDLER(MOVE_s) {
  *SCALAR(in->d) = *SCALAR(in->a);
  return in + 1;
}
MOVE_LANES(MOVE_4, 4, in->a)
MOVE_LANES(MOVE_8, 8, in->a)
HANDLER(MOVE_1) {
  MASK(in->d) = MASK(in->a);
  return in + 1;
}
CHOOSE(SET_4, int32_t, w->mask, in->a, in->d)
CHOOSE(SET_8, int64_t, w->mask, in->a, in->d)
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
  ct_table_fill(w, m, CT_AT(CtTable, w, in->d));
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(moves)[CT_SIMT_OP_COUNT] = {
#define SET_s MOVE_s
#define X(name, ...) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_moves.def"
#undef X
};
