/* simt_mma.h: what the handlers of MMA and WGMMA share: loads of all lanes' values as numbers in
   dense matrices, stores back to the registers, and products of integers. Included by files that
   are compiled once per instruction set. */
#ifndef CT_SIMT_MMA_H
#define CT_SIMT_MMA_H

#include <string.h>

#include "simt_narrow.h"
#include "simt_run.h"
#include "simt_vec.h"

enum { PRODUCTS_PER_LOOK = 64 };

/* --- loading and storing lanes --------------------------------------------------------------------- */

/* One value of all lanes, as numbers of 4 bytes, or of 8. */
#define LOAD(t, T, C, S)                                                                           \
  static void load_##t(const char *p, void *out) {                                                 \
    T bits[CT_LANES];                                                                              \
    C to[CT_LANES];                                                                                \
    memcpy(bits, p, sizeof bits);                                                                  \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      to[i] = CAST_##S##_##t(bits[i]);                                                             \
    }                                                                                              \
    memcpy(out, to, sizeof to);                                                                    \
  }
#if CT_VEC_HAS_F16
static void load_f16(const char *p, void *out) {
  for (int i = 0; i < CT_LANES; i += CT_VEC_BYTES / 4) {
    ct_vec_store_f32((float *)out + i, ct_vec_widen_f16(p + 2 * i));
  }
}
#else
LOAD(f16, uint16_t, float, f32)
#endif
#define CUT(...)
#define HALF(...)
#define NARROW(t, bits, compute, cuda, ctype, ...) LOAD(t, ctype, float, f32)
#include "runtime/base/dtypes.def"
CT_NARROW_INTS(LOAD)

static void load_words_4(const char *p, void *out) { memcpy(out, p, 4 * (size_t)CT_LANES); }
static void load_words_8(const char *p, void *out) { memcpy(out, p, 8 * (size_t)CT_LANES); }

typedef void (*Load)(const char *p, void *out);
static const Load loads[CT_LOAD_COUNT] = {
#define LOADER(t, ...) [CT_LOAD_##t] = load_##t,
#define CUT(...)
#define NARROW LOADER
#include "runtime/base/dtypes.def"
    CT_NARROW_INTS(LOADER)[CT_LOAD_WORDS_4] = load_words_4,
    [CT_LOAD_WORDS_8] = load_words_8,
    [CT_LOAD_i4] = load_words_4,
    [CT_LOAD_u4] = load_words_4,
    [CT_LOAD_f4] = load_words_4,
};

/* Before each product of an atom. */
static inline bool stops_at_product(const CtWarp *w, int64_t n) {
  return n % PRODUCTS_PER_LOOK == PRODUCTS_PER_LOOK - 1 && ct_simt_stopping(w);
}

/* --- operands -------------------------------------------------------------------------------------------- */

/* An operand of the warp: value v of atom r is 32 lanes at ptr + (v_off[v] + r_off[r]) * bytes. */
typedef struct Fragment {
  char *ptr;
  int64_t bytes; /* of one element of all lanes */
  const int64_t *v_off, *r_off;
} Fragment;

/* False after reporting that the operand reaches outside its buffer. */
static inline bool find_fragment(const CtIn *in, CtWarp *w, const CtTileArg *arg, bool is_write,
                                 Fragment *f) {
  const CtTileMode *modes = w->worker->job->program->modes;
  const CtTable *values = modes[arg->mode[0]].fixed, *rest = modes[arg->mode[1]].fixed;
  const CtMem *mem = &w->mem[arg->buf];
  int lane = ct_first_lane(w->mask);
  CT_ASSERT(values != NULL && rest != NULL);
  int64_t first = ADD_i64(values->off[0], rest->off[0]), outside;
  int64_t base = SUB_i64(ct_simt_arg_offset(w, arg, lane, 0, 0), first);
  if (!ct_simt_reaches_inside(base, values, rest, mem->n, &outside)) {
    ct_simt_fail_bounds(w, in, lane, arg->buf, outside, is_write);
    return false;
  }
  f->bytes = mem->elem_bytes;
  f->ptr = mem->ptr + base * f->bytes;
  f->v_off = values->off;
  f->r_off = rest->off;
  return true;
}

static inline char *lanes_of(const Fragment *f, int v, int64_t r) {
  return f->ptr + (f->v_off[v] + f->r_off[r]) * f->bytes;
}

/* Writes eight numbers of 4 bits to places `step` apart. */
static inline void put_nibbles(const uint32_t words[CT_LANES], const uint16_t *place, int step,
                               bool is_signed, uint32_t *matrix) {
  for (int i = 0; i < CT_LANES; i++) {
    for (int j = 0; j < 8; j++) {
      uint32_t v = words[i] >> (4 * j) & 15;
      matrix[place[i] + j * step] = is_signed ? (v ^ 8) - 8 : v;
    }
  }
}

/* The same of floats of 4 bits. */
static inline void put_floats_4(const uint32_t words[CT_LANES], const uint16_t *place, int step,
                                float *matrix) {
  for (int i = 0; i < CT_LANES; i++) {
    for (int j = 0; j < 8; j++) {
      matrix[place[i] + j * step] = CAST_f32_f4e2m1((uint8_t)(words[i] >> (4 * j) & 15));
    }
  }
}

/* Gathers atom r of an operand as matrices, one for each group. */
static inline void gather(const CtMma *m, CtAtomOperand of, const Fragment *f, int64_t r,
                          void *matrix) {
  uint64_t numbers[CT_LANES];
  CtLoad load = m->load[of];
  for (int v = 0; v < m->values[of]; v++) {
    const uint16_t *place = m->place[of] + v * CT_LANES;
    loads[load](lanes_of(f, v, r), numbers);
    if (load == CT_LOAD_WORDS_8) {
      for (int i = 0; i < CT_LANES; i++) {
        ((uint64_t *)matrix)[place[i]] = numbers[i];
      }
      continue;
    }
    uint32_t words[CT_LANES];
    memcpy(words, numbers, sizeof words);
    if (load == CT_LOAD_i4 || load == CT_LOAD_u4) {
      put_nibbles(words, place, of == CT_ATOM_A ? 1 : m->n, load == CT_LOAD_i4, matrix);
      continue;
    }
    if (load == CT_LOAD_f4) {
      put_floats_4(words, place, of == CT_ATOM_A ? 1 : m->n, matrix);
      continue;
    }
    for (int i = 0; i < CT_LANES; i++) {
      ((uint32_t *)matrix)[place[i]] = words[i];
    }
  }
}

/* Writes the sums of atom r to the active lanes. */
static inline void scatter(const CtMma *m, const Fragment *f, int64_t r, uint32_t mask,
                           const void *matrix) {
  for (int v = 0; v < m->values[CT_ATOM_C]; v++) {
    const uint16_t *place = m->place[CT_ATOM_C] + v * CT_LANES;
    char *to = lanes_of(f, v, r);
    for (int i = 0; i < CT_LANES; i++) {
      if ((mask >> i & 1) == 0) {
        continue;
      }
      if (m->load[CT_ATOM_C] == CT_LOAD_WORDS_8) {
        memcpy(to + 8 * i, (const char *)matrix + 8 * (size_t)place[i], 8);
      } else if (m->load[CT_ATOM_C] == CT_LOAD_WORDS_4) {
        memcpy(to + 4 * i, (const char *)matrix + 4 * (size_t)place[i], 4);
      } else {
        uint16_t half = (uint16_t)CAST_f16_f32(((const float *)matrix)[place[i]]);
        memcpy(to + 2 * i, &half, sizeof half);
      }
    }
  }
}

/* --- products of integers ------------------------------------------------------------------------------ */

enum { MAX_N = 8 };

static inline uint32_t saturated_sum(uint32_t c, uint32_t sum) {
  int64_t v = (int64_t)(int32_t)c + (int32_t)sum;
  return (uint32_t)(int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

/* If the instruction saturates, its products never overflow 32 bits. */
static inline void multiply_int(const CtMma *m, const void *a, const void *b, void *c) {
  const uint32_t *x = a, *y = b;
  uint32_t *z = c;
  int n = m->n;
  CT_ASSERT(n <= MAX_N);
  for (int i = 0; i < m->m; i++) {
    uint32_t sum[MAX_N] = {0};
    for (int l = 0; l < m->k; l++) {
      for (int j = 0; j < n; j++) {
        sum[j] += x[i * m->k + l] * y[l * n + j];
      }
    }
    for (int j = 0; j < n; j++) {
      uint32_t *to = &z[i * n + j];
      *to = m->saturates ? saturated_sum(*to, sum[j]) : *to + sum[j];
    }
  }
}

#endif
