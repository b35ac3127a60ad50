/* lanes.c: what instructions do to the lanes of a warp; see run.h. */
#include "run.h"

/* --- floats ------------------------------------------------------------------------------------------------- */

float as_h(uint32_t x) {
  uint16_t bits = (uint16_t)x;
  _Float16 h;
  memcpy(&h, &bits, sizeof h);
  return (float)h;
}

uint32_t h_as(float f) {
  _Float16 h = (_Float16)f;
  uint16_t bits;
  memcpy(&bits, &h, sizeof bits);
  return bits;
}

float as_bf(uint32_t x) { return as_f(x << 16); }

uint32_t bf_as(float f) {
  uint32_t x = f_as(f);
  return isnan(f) ? 0x7fff : (x + 0x7fff + (x >> 16 & 1)) >> 16;
}

uint32_t e4m3_as(float f) {
  enum { NAN_BITS = 0x7f, LARGEST = 0x7e, BIAS = 7, LEAST = -6 };
  uint32_t sign = f_as(f) >> 31 << 7;
  int exponent;
  float a = fabsf(f);
  (void)frexpf(a, &exponent); /* a is below 2^exponent */
  if (isnan(f)) {
    return sign | NAN_BITS;
  }
  exponent = exponent - 1 < LEAST ? LEAST : exponent - 1;
  uint32_t eighths = a > 448 ? 0 : (uint32_t)rintf(ldexpf(a, 3 - exponent));
  uint32_t bits = a > 448 ? LARGEST : ((uint32_t)(exponent + BIAS - 1) << 3) + eighths;
  return sign | (bits > LARGEST ? LARGEST : bits);
}

bool compare(int how, double a, double b) {
  bool is_none = isnan(a) || isnan(b);
  if (how >= 9) {
    return is_none || compare(how - 8, a, b);
  }
  const bool is[] = {false, a<b, a == b, a <= b, a> b, a < b || a > b, a >= b, !is_none, is_none};
  return is[how];
}

uint32_t float_min_max(uint32_t x, uint32_t y, bool is_min, bool keeps_nan) {
  float a = as_f(x), b = as_f(y);
  if (isnan(a) || isnan(b)) {
    return keeps_nan ? 0x7fffffff : isnan(a) ? y : x;
  }
  if (a == b) {
    return is_min ? x | y : x & y; /* -0 is below 0 */
  }
  return (a < b) == is_min ? x : y;
}

bool is_hard_division(float a, float b) {
  enum { NEAR = 120, LARGE = 252, NONE = 255 };
  int of_a = (int)(f_as(a) >> 23 & 255), of_b = (int)(f_as(b) >> 23 & 255);
  bool is_far = of_a - of_b > NEAR || of_b - of_a > NEAR;
  return of_b == 0 || of_b >= LARGE || of_a == NONE || (a != 0 && (of_a == 0 || is_far));
}

float round_up(double d) {
  float f = (float)d;
  return (double)f < d ? nextafterf(f, INFINITY) : f;
}

uint32_t to_u32(double d) {
  return isnan(d) || d <= 0 ? 0 : d >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)d;
}

uint32_t to_s32(double d) {
  int32_t v = isnan(d)                 ? 0
              : d <= (double)INT32_MIN ? INT32_MIN
              : d >= (double)INT32_MAX ? INT32_MAX
                                       : (int32_t)d;
  return (uint32_t)v;
}

uint64_t to_u64(double d) {
  return isnan(d) || d <= 0 ? 0 : d >= 0x1p64 ? UINT64_MAX : (uint64_t)d;
}

/* --- integers ----------------------------------------------------------------------------------------------- */

uint64_t shf(bool is_left, bool is_signed, bool is_high, uint32_t low, uint32_t n, uint32_t high) {
  uint64_t v = pair(low, high);
  if (!is_left && is_signed) {
    v = (uint64_t)((int64_t)v >> (n > 63 ? 63 : n));
  } else if (n > 63) {
    v = 0;
  } else {
    v = is_left ? v << n : v >> n;
  }
  return is_high ? v >> 32 : v & UINT32_MAX;
}

uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (int i = 0; i < 8; i++) {
    uint32_t here = ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    r |= (table >> i & 1) != 0 ? here : 0;
  }
  return r;
}

uint32_t prmt(uint32_t a, uint32_t select, uint32_t b) {
  uint64_t v = pair(a, b);
  uint32_t r = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t s = select >> (4 * i) & 15, byte = (uint32_t)(v >> (8 * (s & 7)) & 255);
    byte = (s & 8) == 0 ? byte : (byte & 128) != 0 ? 255 : 0; /* its sign */
    r |= byte << (8 * i);
  }
  return r;
}

uint32_t brev(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) {
    r |= (x >> i & 1) << (31 - i);
  }
  return r;
}

uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool is_signed_a, bool is_signed_b) {
  for (int i = 0; i < 32; i += 8) {
    int32_t x = is_signed_a ? (int8_t)(a >> i) : (int32_t)(a >> i & 255);
    int32_t y = is_signed_b ? (int8_t)(b >> i) : (int32_t)(b >> i & 255);
    c += (uint32_t)(x * y);
  }
  return c;
}

const uint32_t *sass_splat(int i, uint32_t value) {
  static uint32_t all[3][LANES];
  for (int l = 0; l < LANES; l++) {
    all[i][l] = value;
  }
  return all[i];
}

static float signed_float(uint32_t x, int signs, int i) {
  x = (signs >> (i + 3) & 1) != 0 ? x & 0x7fffffff : x;
  return as_f((signs >> i & 1) != 0 ? x ^ 0x80000000 : x);
}

static uint32_t signed_int(uint32_t x, int signs, int i) {
  return (signs >> i & 1) != 0 ? 0 - x : x;
}

void sass_vector(int how, uint32_t m, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, int signs) {
  FOR(m) {
    if (how == V_IMAD || how == V_IADD3) {
      uint32_t x = signed_int(a[l], signs, 0), y = signed_int(b[l], signs, 1);
      d[l] = (how == V_IMAD ? x * y : x + y) + signed_int(c[l], signs, 2);
    } else {
      float x = signed_float(a[l], signs, 0), y = signed_float(b[l], signs, 1);
      float z = signed_float(c[l], signs, 2);
      d[l] = f_as(how == V_FADD ? x + y : how == V_FMUL ? x * y : fmaf(x, y, z));
    }
  }
}

/* --- products ----------------------------------------------------------------------------------------------- */

typedef struct Product {
  Warp *w;
  int kind, per; /* elements of a register */
  bool sums_half;
} Product;

static float half_of(uint32_t x, int i, bool is_bf) {
  x = i != 0 ? x >> 16 : x & 0xffff;
  return is_bf ? as_bf(x) : as_h(x);
}

static float element(const Product *p, int reg, int lane, int i) {
  uint32_t x = reg >= NO_REGISTER ? 0 : p->w->R[reg][lane];
  return p->kind == 2 ? as_f(x) : half_of(x, i, p->kind == 1);
}

static float element_a(const Product *p, int a, int i, int k) {
  int group = 4 * p->per, reg = (i >= 8) + 2 * (k / group);
  return element(p, a == NO_REGISTER ? a : a + reg, 4 * (i & 7) + k % group / p->per, k % p->per);
}

static float element_b(const Product *p, int b, int k, int j) {
  int group = 4 * p->per;
  return element(p, b == NO_REGISTER ? b : b + k / group, 4 * j + k % group / p->per, k % p->per);
}

/* The register that element (i, j) of the sums is in, of `first`. */
static uint32_t *sum_at(const Product *p, int first, int i, int j) {
  int reg = p->sums_half ? (i >= 8) : 2 * (i >= 8) + j % 2;
  return &p->w->R[first + reg][4 * (i & 7) + j / 2];
}

static float sum_of(const Product *p, int n_k, int a, int b, int c, int i, int j) {
  float sum = 0;
  if (c != NO_REGISTER) {
    uint32_t x = *sum_at(p, c, i, j);
    sum = p->sums_half ? half_of(x, j % 2, false) : as_f(x);
  }
  for (int k = 0; k < n_k; k++) {
    sum += element_a(p, a, i, k) * element_b(p, b, k, j);
  }
  return sum;
}

void sass_hmma(Warp *w, int n_k, int kind, bool sums_half, int d, int a, int b, int c) {
  const Product p = {w, kind, kind == 2 ? 1 : 2, sums_half};
  float sums[16 * 8];
  for (int i = 0; i < 16 * 8; i++) {
    sums[i] = sum_of(&p, n_k, a, b, c, i / 8, i % 8);
  }
  for (int i = 0; i < 16 * 8; i++) {
    uint32_t *x = sum_at(&p, d, i / 8, i % 8);
    int shift = i % 2 * 16;
    *x = sums_half ? (*x & ~(UINT32_C(0xffff) << shift)) | h_as(sums[i]) << shift : f_as(sums[i]);
  }
}

/* --- other lanes -------------------------------------------------------------------------------------------- */

enum { BY_NUMBER, UP, DOWN, XOR };

/* The lane that a value comes from; false: there is none. */
static bool find_lane(int how, int lane, uint32_t operand, uint32_t clamp, int *from) {
  int segment = (int)(clamp >> 8 & 31), limit = (int)(clamp & 31), n = (int)(operand & 31);
  int first = lane & segment, last = first | (limit & ~segment);
  switch (how) {
    case BY_NUMBER: *from = first | (n & ~segment); break;
    case UP: *from = lane - n; return *from >= last;
    case DOWN: *from = lane + n; break;
    default: *from = lane ^ n; break;
  }
  return *from <= last;
}

void sass_shuffle(Warp *w, uint32_t m, int how, int d, int a, const uint32_t *lane,
                  const uint32_t *clamp, int predicate) {
  uint32_t values[LANES], found = 0;
  FOR(m) {
    int from;
    bool is_there = find_lane(how, (int)l, lane[l], clamp[l], &from);
    values[l] = w->R[a][is_there ? from : (int)l];
    found |= (uint32_t)is_there << l;
  }
  FOR(m) { w->R[d][l] = values[l]; }
  w->P[predicate] = (w->P[predicate] & ~m) | found;
}

void sass_match(Warp *w, uint32_t m, int d, int a, bool is_wide) {
  uint32_t same[LANES] = {0};
  FOR(m) {
    for (int k = 0; k < LANES; k++) {
      bool is_same = w->R[a][k] == w->R[a][l] && (!is_wide || w->R[a + 1][k] == w->R[a + 1][l]);
      same[l] |= (uint32_t)((m >> k & 1) != 0 && is_same) << k;
    }
  }
  FOR(m) { w->R[d][l] = same[l]; }
}

/* --- memory ------------------------------------------------------------------------------------------------- */

static unsigned char *place_of(Warp *w, uint32_t lane, int space, uint64_t at) {
  if (space == LOCAL) {
    w->local[lane] = w->local[lane] == NULL ? calloc(1, STACK_TOP) : w->local[lane];
    return w->local[lane] + (at & (STACK_TOP - 1));
  }
  return space == SHARED ? shared_at(w, at) : generic_at(w, at);
}

static void load(Warp *w, uint32_t lane, const SassAccess *a, const unsigned char *p) {
  uint32_t x[4] = {0};
  int n = a->bits > 32 ? a->bits / 32 : 1;
  memcpy(x, p, (size_t)a->bits / 8);
  if (a->is_signed && a->bits < 32) {
    x[0] = (uint32_t)((int32_t)(x[0] << (32 - a->bits)) >> (32 - a->bits));
  }
  for (int i = 0; i < n && a->r != NO_REGISTER; i++) {
    w->R[a->r + i][lane] = x[i];
  }
}

static void store(Warp *w, uint32_t lane, const SassAccess *a, unsigned char *p) {
  uint32_t x[4] = {0};
  int n = a->bits > 32 ? a->bits / 32 : 1;
  for (int i = 0; i < n && a->r != NO_REGISTER; i++) {
    x[i] = w->R[a->r + i][lane];
  }
  memcpy(p, x, (size_t)a->bits / 8);
}

void sass_access(Warp *w, uint32_t m, SassAccess a) {
  uint64_t at[LANES] = {0};
  FOR(m) {
    uint64_t base = pair(w->R[a.base][l], a.is_pair ? w->R[a.base + 1][l] : 0);
    at[l] = a.at != NULL ? a.at[l] : base + a.more;
    at[l] = a.space == SHARED || a.space == LOCAL ? (uint32_t)at[l] : at[l];
  }
  if (a.counted >= 0) {
    sass_count(a.counted, m, at);
  }
  FOR(m) {
    unsigned char *p = place_of(w, l, a.space, at[l]);
    if (a.is_store) {
      store(w, l, &a, p);
    } else {
      load(w, l, &a, p);
    }
  }
}

void sass_copy(Warp *w, uint32_t m, uint32_t reads, const uint64_t *from, const uint64_t *to,
               int bytes, int counted) {
  if (counted >= 0) {
    sass_count(counted, reads, from);
    sass_count(counted + 1, m, to);
  }
  FOR(m) {
    if ((reads >> l & 1) != 0) {
      memcpy(shared_at(w, to[l]), (const void *)(uintptr_t)from[l], (size_t)bytes);
    } else {
      memset(shared_at(w, to[l]), 0, (size_t)bytes);
    }
  }
}

/* Rows of eight elements of 16 bits; lane l has two neighbours of row l / 4, or of a column. */
void sass_load_matrices(Warp *w, uint32_t m, const uint32_t *at, int n, bool is_turned, int d) {
  uint16_t x[4][LANES][2];
  for (int i = 0; i < n; i++) {
    FOR(m) {
      for (uint32_t k = 0; k < 2; k++) {
        uint32_t major = l / 4, minor = 2 * (l % 4) + k;
        uint32_t row = is_turned ? minor : major, column = is_turned ? major : minor;
        memcpy(&x[i][l][k], shared_at(w, at[8 * (uint32_t)i + row]) + 2 * column, 2);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    FOR(m) { w->R[d + i][l] = x[i][l][0] | (uint32_t)x[i][l][1] << 16; }
  }
}

static uint64_t add(int type, uint64_t old, uint64_t a) {
  uint32_t x = (uint32_t)old, y = (uint32_t)a;
  bool is_bf = type == T_BF16X2;
  switch (type) {
    case T_F32: return f_as(as_f(x) + as_f(y));
    case T_F64: return d_as(as_d(old) + as_d(a));
    case T_F16X2:
    case T_BF16X2: {
      float low = half_of(x, 0, is_bf) + half_of(y, 0, is_bf);
      float high = half_of(x, 1, is_bf) + half_of(y, 1, is_bf);
      return is_bf ? bf_as(low) | bf_as(high) << 16 : h_as(low) | h_as(high) << 16;
    }
    default: return old + a;
  }
}

static bool is_less(int type, uint64_t a, uint64_t b) {
  bool is_signed = type == T_S32 || type == T_S64;
  int64_t x = type == T_S32 ? (int32_t)a : (int64_t)a, y = type == T_S32 ? (int32_t)b : (int64_t)b;
  return is_signed ? x < y : a < b;
}

static uint64_t combine(int how, int type, uint64_t old, uint64_t a, uint64_t expected) {
  switch (how) {
    case A_ADD: return add(type, old, a);
    case A_MIN: return is_less(type, a, old) ? a : old;
    case A_MAX: return is_less(type, a, old) ? old : a;
    case A_AND: return old & a;
    case A_OR: return old | a;
    case A_XOR: return old ^ a;
    case A_INC: return old >= a ? 0 : old + 1;
    case A_CAS: return old == expected ? a : old;
    default: return a;
  }
}

uint64_t sass_atomic(unsigned char *p, int how, int type, uint64_t a, uint64_t expected) {
  size_t bytes = type == T_U64 || type == T_S64 || type == T_F64 ? 8 : 4;
  uint64_t old = 0;
  memcpy(&old, p, bytes);
  uint64_t result = combine(how, type, old, a, expected);
  memcpy(p, &result, bytes);
  return old;
}

/* --- control ------------------------------------------------------------------------------------------------ */

void sass_go(Warp *w, uint32_t mask, uint32_t pc) {
  FOR(mask) { w->pc[l] = pc; }
}

void sass_part(Warp *w, uint32_t mask, uint32_t taken, uint32_t to, uint32_t next) {
  sass_go(w, mask & ~taken, next);
  sass_go(w, taken, to);
}

void sass_wait(Warp *w, uint32_t mask, uint32_t m, uint32_t next, int state, uint32_t named) {
  sass_go(w, mask, next);
  FOR(m) {
    w->state[l] = (uint8_t)state;
    w->named[l] = named;
  }
  w->live &= state == EXITED ? ~m : UINT32_MAX;
}

void sass_arrive(Warp *w, uint32_t m, uint32_t barrier, uint32_t needed) {
  barrier %= N_BARRIERS;
  w->block->arrived[barrier] += (uint32_t)__builtin_popcount(m);
  w->block->needed[barrier] = needed;
}

/* The lanes that wait for the same as a lane does. */
static uint32_t with_lane(const Warp *w, int lane) {
  uint32_t here = 0;
  for (int l = 0; l < LANES; l++) {
    bool is_same = w->state[lane] == WAITS_WARP || w->named[l] == w->named[lane];
    here |= (uint32_t)(w->state[l] == w->state[lane] && is_same) << l;
  }
  return here;
}

void sass_rejoin(Warp *w) {
  for (int lane = 0; lane < LANES; lane++) {
    bool by_barrier = w->state[lane] == WAITS_REJOIN;
    if (!by_barrier && w->state[lane] != WAITS_WARP) {
      continue;
    }
    uint32_t need = (by_barrier ? w->B[w->named[lane]] : w->named[lane]) & w->live;
    uint32_t here = with_lane(w, lane);
    if ((need & ~here) == 0) {
      FOR(here & (need | 1u << lane)) { w->state[l] = RUNS; }
    }
  }
}
