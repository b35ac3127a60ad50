/* run.h: what the C has in hand that translate.lua makes of a kernel's machine code: a warp, its registers, and what
   instructions do. lanes.c has the functions, run.c the driver. */
#ifndef SASS_RUN_H
#define SASS_RUN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, STACK_TOP = 0x4000, BLOCK_SHARED = 256 * 1024, CONSTANT_BYTES = 0x10000 };
enum { NO_REGISTER = 255, N_REGISTERS = 257, N_UNIFORM = 65, N_PREDICATES = 9, N_BARRIERS = 16 };
enum { MAX_TURNS = 4096 }; /* of loops, before others run */

/* What a lane does. */
enum { RUNS, WAITS_REJOIN, WAITS_WARP, WAITS_BLOCK, EXITED };

typedef struct Block {
  unsigned char *shared;
  uint32_t id[3], n_threads;
  uint32_t arrived[N_BARRIERS], needed[N_BARRIERS]; /* threads that do not wait; 0: all */
} Block;

typedef struct Warp {
  uint32_t R[N_REGISTERS][LANES]; /* 255: zeros; 256: what is written there */
  uint32_t P[N_PREDICATES];       /* 7: all lanes; 8: what is written there */
  uint32_t UR[N_UNIFORM], UP[N_PREDICATES], B[N_BARRIERS];
  uint32_t pc[LANES], named[LANES]; /* the lanes that it waits for, or the barrier */
  uint8_t state[LANES];
  uint32_t index, live; /* live: the lanes that have not left */
  uint64_t n;           /* instructions */
  Block *block;
  unsigned char *local[LANES];
} Warp;

typedef struct Launch {
  uint32_t grid[3], shape[3];
  unsigned char *constants; /* bank 0 */
} Launch;

extern Launch launch;

/* Runs the lanes of `mask`, which are at the same place, up to `stop`, where others are, or until they part. */
typedef void (*SassStep)(Warp *w, uint32_t mask, uint32_t stop);

#define FOR(m)                                                                                     \
  for (uint32_t rest_ = (m), l = 0; rest_ != 0 && (l = (uint32_t)__builtin_ctz(rest_), true);      \
       rest_ &= rest_ - 1)

/* --- bits --------------------------------------------------------------------------------------------------- */

static inline float as_f(uint32_t x) {
  float f;
  memcpy(&f, &x, sizeof f);
  return f;
}

static inline uint32_t f_as(float f) {
  uint32_t x;
  memcpy(&x, &f, sizeof x);
  return x;
}

static inline double as_d(uint64_t x) {
  double f;
  memcpy(&f, &x, sizeof f);
  return f;
}

static inline uint64_t d_as(double f) {
  uint64_t x;
  memcpy(&x, &f, sizeof x);
  return x;
}

static inline uint64_t pair(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static inline uint32_t constant(uint32_t at) {
  uint32_t v;
  memcpy(&v, launch.constants + (at & (CONSTANT_BYTES - 1)), sizeof v);
  return v;
}

float as_h(uint32_t x);
uint32_t h_as(float f);
float as_bf(uint32_t x);
uint32_t bf_as(float f);
uint32_t e4m3_as(float f); /* the largest one for what is too large */

/* --- arithmetic --------------------------------------------------------------------------------------------- */

/* A shift of 64 bits, and its upper or lower half. */
uint64_t shf(bool is_left, bool is_signed, bool is_high, uint32_t low, uint32_t n, uint32_t high);
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table);
uint32_t prmt(uint32_t a, uint32_t select, uint32_t b);
uint32_t brev(uint32_t x);
uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool is_signed_a, bool is_signed_b);
/* how: LT, EQ, LE, GT, NE, GE, both numbers, one is none, and from 9 on the first six, or one is none. */
bool compare(int how, double a, double b);
uint32_t float_min_max(uint32_t x, uint32_t y, bool is_min, bool keeps_nan);
/* Does the division need its slow path? */
bool is_hard_division(float a, float b);
float round_up(double d);
uint32_t to_u32(double d);
uint32_t to_s32(double d);
uint64_t to_u64(double d);

/* One operation on many lanes. Bits of `signs`: 0 to 2 the operand is negated, 3 to 5 without its sign. */
enum { V_FFMA, V_FADD, V_FMUL, V_IMAD, V_IADD3 };
const uint32_t *sass_splat(int i, uint32_t value);
void sass_vector(int how, uint32_t m, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, int signs);
/* A product m16n8 of k elements; kind 0: f16, 1: bf16, 2: tf32. */
void sass_hmma(Warp *w, int n_k, int kind, bool sums_half, int d, int a, int b, int c);

/* --- other lanes -------------------------------------------------------------------------------------------- */

/* how: a lane by number, up, down, xor. */
void sass_shuffle(Warp *w, uint32_t m, int how, int d, int a, const uint32_t *lane,
                  const uint32_t *clamp, int predicate);
void sass_match(Warp *w, uint32_t m, int d, int a, bool is_wide);

/* --- memory ------------------------------------------------------------------------------------------------- */

enum { SHARED, GLOBAL, GENERIC, LOCAL };

typedef struct SassAccess {
  int space;
  bool is_store;
  int base; /* the register of the address */
  bool is_pair;
  uint64_t more;      /* is added */
  const uint64_t *at; /* not NULL: the addresses */
  int r, bits;        /* what is loaded or stored */
  bool is_signed;
  int counted; /* its number; -1: it is not counted */
} SassAccess;

static inline unsigned char *shared_at(Warp *w, uint64_t at) {
  return w->block->shared + (at & (BLOCK_SHARED - 1));
}

/* Of generic addresses those of shared memory begin at 1 << 60. */
static inline unsigned char *generic_at(Warp *w, uint64_t at) {
  return at >> 60 == 1 ? shared_at(w, at) : (unsigned char *)(uintptr_t)at;
}

void sass_access(Warp *w, uint32_t m, SassAccess a);
/* Lanes of `reads` copy, the others of m write zeros. */
void sass_copy(Warp *w, uint32_t m, uint32_t reads, const uint64_t *from, const uint64_t *to,
               int bytes, int counted);
void sass_load_matrices(Warp *w, uint32_t m, const uint32_t *at, int n, bool is_turned, int d);

enum { A_ADD, A_MIN, A_MAX, A_AND, A_OR, A_XOR, A_EXCH, A_INC, A_CAS };
enum { T_U32, T_S32, T_U64, T_S64, T_F32, T_F64, T_F16X2, T_BF16X2 };
/* The value before. */
uint64_t sass_atomic(unsigned char *p, int how, int type, uint64_t a, uint64_t expected);

/* --- control ------------------------------------------------------------------------------------------------ */

/* The lanes go on there. */
void sass_go(Warp *w, uint32_t mask, uint32_t pc);
void sass_part(Warp *w, uint32_t mask, uint32_t taken, uint32_t to, uint32_t next);
/* Those of m wait, or have left; all go on at `next`. */
void sass_wait(Warp *w, uint32_t mask, uint32_t m, uint32_t next, int state, uint32_t named);
/* At a barrier of the block, which is for so many threads. */
void sass_arrive(Warp *w, uint32_t m, uint32_t barrier, uint32_t needed);

/* --- for run.c ---------------------------------------------------------------------------------------------- */

/* Of run.c: an instruction of a warp is carried out. */
void sass_count(int counted, uint32_t mask, const uint64_t *at);
_Noreturn void sass_stop(const char *why, uint32_t pc);
/* Lets lanes go on whose others have come. */
void sass_rejoin(Warp *w);

#endif
