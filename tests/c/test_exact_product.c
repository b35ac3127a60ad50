/* test_exact_product.c: products of narrow floats, with scales and without, against integers of 1024 bits: 10^5 results,
   or as many as the first argument says: `test_exact_product 1000000`. */
#include <math.h>

#include "tap.h"

#include "runtime/base/bits.h"
#include "runtime/base/convert.h"
#include "runtime/base/rand.h"
#include "runtime/simt/model/exact_product.h"

/* {====== Numbers of 1024 bits, in units of 2^-UNIT ====== */

enum { WORDS = 16, UNIT = 400 };
typedef struct Big {
  uint64_t w[WORDS]; /* two's complement, the lowest first */
} Big;

static void negate(Big *x) {
  bool carry = true;
  for (int i = 0; i < WORDS; i++) {
    x->w[i] = ~x->w[i] + carry;
    carry = carry && x->w[i] == 0;
  }
}

static void add(Big *x, const Big *y) {
  unsigned carry = 0;
  for (int i = 0; i < WORDS; i++) {
    uint64_t s = x->w[i] + y->w[i], all = s + carry;
    carry = (unsigned)(s < y->w[i]) | (unsigned)(all < s);
    x->w[i] = all;
  }
}

/* Adds m 2^e. */
static void add_number(Big *x, int64_t m, int e) {
  Big y = {{0}};
  int at = e + UNIT;
  uint64_t u = (uint64_t)(m < 0 ? -m : m);
  y.w[at / 64] = u << at % 64;
  if (at % 64 != 0) {
    y.w[at / 64 + 1] = u >> (64 - at % 64);
  }
  if (m < 0) {
    negate(&y);
  }
  add(x, &y);
}

static bool bit_at(const Big *x, int i) { return i >= 0 && (x->w[i / 64] >> i % 64 & 1) != 0; }

/* Rounds to nearest even, to `bits` bits or a multiple of 2^least; what is 2^end or more is infinite. */
static double round_big(Big x, int bits, int least, int end) {
  bool is_negative = bit_at(&x, 64 * WORDS - 1), rest = false;
  int top = 64 * WORDS - 1;
  if (is_negative) {
    negate(&x);
  }
  while (top >= 0 && !bit_at(&x, top)) {
    top--;
  }
  int last = top - bits + 1 > least + UNIT ? top - bits + 1 : least + UNIT;
  uint64_t m = 0;
  for (int i = top; i >= last; i--) {
    m = m << 1 | bit_at(&x, i);
  }
  for (int i = 0; i < last - 1; i++) {
    rest = rest || bit_at(&x, i);
  }
  m += bit_at(&x, last - 1) && (rest || (m & 1) != 0);
  double r = (double)m;
  for (int e = last - UNIT; e > 0; e--) {
    r *= 2;
  }
  for (int e = last - UNIT; e < 0; e++) {
    r /= 2;
  }
  double limit = 1;
  for (int i = 0; i < end; i++) {
    limit *= 2;
  }
  r = r >= limit ? (double)INFINITY : r;
  return is_negative && r != 0 ? -r : r;
}

/* {====== Numbers of narrow types ====== */

typedef enum Class { NUMBER, INFINITE, NO_NUMBER } Class;
typedef struct Narrow {
  Class cls;
  int64_t m;
  int e;
} Narrow;

/* By the definitions of the formats (OCP "Microscaling Formats", PTX ISA 5.2.2). */
static Narrow decode(CtDtype t, uint32_t bits) {
  if (t == CT_f8ue8m0) {
    return (Narrow){bits == 255 ? NO_NUMBER : NUMBER, 1, (int)bits - 127};
  }
  static const struct {
    int exponent, fraction, bias;
  } formats[CT_DTYPE_COUNT] = {
      [CT_f8e4m3] = {4, 3, 7}, [CT_f8e5m2] = {5, 2, 15}, [CT_f8ue4m3] = {4, 3, 7},
      [CT_f6e3m2] = {3, 2, 3}, [CT_f6e2m3] = {2, 3, 1},  [CT_f4e2m1] = {2, 1, 1}};
  int ne = formats[t].exponent, nf = formats[t].fraction;
  int field = (int)(bits >> nf & ((1u << ne) - 1)), fraction = (int)(bits & ((1u << nf) - 1));
  bool is_negative = (bits >> (ne + nf) & 1) != 0;
  Narrow n = {NUMBER, fraction + (field > 0 ? 1 << nf : 0),
              (field > 0 ? field : 1) - formats[t].bias - nf};
  if ((t == CT_f8e4m3 || t == CT_f8ue4m3) && field == 15 && fraction == 7) {
    n.cls = NO_NUMBER;
  } else if (t == CT_f8e5m2 && field == 31) {
    n.cls = fraction == 0 ? INFINITE : NO_NUMBER;
    n.m = 1;
  }
  n.m = is_negative ? -n.m : n.m;
  return n;
}

static Narrow product(Narrow x, Narrow y) {
  Class cls = x.cls > y.cls ? x.cls : y.cls;
  bool is_none = cls == INFINITE && (x.m == 0 || y.m == 0);
  return (Narrow){is_none ? NO_NUMBER : cls, x.m * y.m, x.e + y.e};
}

/* {====== One case ====== */

enum { M = CT_EXACT_MAX_M, N = CT_EXACT_MAX_N, K = CT_EXACT_MAX_K, VEC = 4 };
typedef struct Case {
  CtExact x;
  CtDtype a, b, scale;
  uint32_t bits_a[M * K], bits_b[K * N], bits_sfa[M * VEC], bits_sfb[N * VEC];
  float of_a[M * K], of_b[K * N], of_sfa[M * VEC], of_sfb[N * VEC], c[M * N], d[M * N];
} Case;

/* Patterns from lo to hi; one in some thousands is an infinity or a NaN. */
static void fill(CtRand *r, CtDtype t, int lo, int hi, int n, uint32_t *bits, float *values) {
  for (int i = 0; i < n; i++) {
    do {
      bits[i] = (uint32_t)ct_rand_int(r, lo, hi);
    } while (decode(t, bits[i]).cls != NUMBER && ct_rand_int(r, 0, 199) != 0);
    values[i] = (float)ct_float_of_bits(t, bits[i]);
  }
}

static void fill_scales(CtRand *r, const Case *x, int n, uint32_t *bits, float *values) {
  bool is_wide = ct_rand_int(r, 0, 1) == 0; /* else the sums of blocks meet */
  int hi = x->scale == CT_f8ue8m0 ? 255 : 127;
  int middle = hi / 2;
  fill(r, x->scale, is_wide ? 0 : middle - 6, is_wide ? hi : middle + 6, n, bits, values);
}

static float random_c(CtRand *r, CtDtype sum) {
  int kind = (int)ct_rand_int(r, 0, 20);
  if (kind == 0) {
    return sum == CT_f16 ? 0 : ct_f32_of_bits((uint32_t)ct_rand_int(r, 0, UINT32_MAX));
  }
  double v = ct_rand_normal(r) * (kind < 10 ? 100 : kind < 15 ? 0x1p-10 : 0x1p15);
  return sum == CT_f16 ? (float)ct_round_float(CT_f16, v) : (float)v;
}

static void make_case(CtRand *r, Case *x) {
  const int hi_a = (1 << ct_dtypes[x->a].bits) - 1, hi_b = (1 << ct_dtypes[x->b].bits) - 1;
  const int k = x->x.k, vec = x->x.vec;
  fill(r, x->a, 0, hi_a, M * k, x->bits_a, x->of_a);
  fill(r, x->b, 0, hi_b, N * k, x->bits_b, x->of_b);
  if (vec > 0) {
    fill_scales(r, x, M * vec, x->bits_sfa, x->of_sfa);
    fill_scales(r, x, N * vec, x->bits_sfb, x->of_sfb);
  }
  for (int i = 0; i < M * N; i++) {
    x->d[i] = x->c[i] = random_c(r, x->x.sum);
  }
}

/* What c is after all blocks; its sum of infinities, and whether a NaN is among them. */
static double want(const Case *x, int i, int j) {
  const int blocks = x->x.vec > 0 ? x->x.vec : 1, each = x->x.k / blocks;
  double c = (double)x->c[i * N + j], ends = c - c == 0 ? 0 : c;
  for (int block = 0; block < blocks; block++) {
    Big sum = {{0}};
    if (c - c == 0) {
      uint32_t u = ct_bits_of_f32((float)c);
      int field = (int)(u >> 23 & 255);
      int64_t m = (int64_t)(u & 0x7FFFFF) + (field > 0 ? 1 << 23 : 0);
      add_number(&sum, u >> 31 != 0 ? -m : m, (field > 0 ? field : 1) - 150);
    }
    for (int l = block * each; l < (block + 1) * each; l++) {
      Narrow p =
          product(decode(x->a, x->bits_a[i * x->x.k + l]), decode(x->b, x->bits_b[l * N + j]));
      if (x->x.vec > 0) {
        p = product(p, product(decode(x->scale, x->bits_sfa[i * x->x.vec + block]),
                               decode(x->scale, x->bits_sfb[j * x->x.vec + block])));
      }
      if (p.cls == NUMBER) {
        add_number(&sum, p.m, p.e);
      } else {
        ends += p.cls == NO_NUMBER ? (double)NAN : p.m < 0 ? (double)-INFINITY : (double)INFINITY;
      }
    }
    if (c - c == 0) {
      c = x->x.sum == CT_f16 ? round_big(sum, 11, -24, 16) : round_big(sum, 24, -149, 128);
    }
  }
  return ends != 0 ? ends : c;
}

static int count_wrong(const Case *x) {
  int n_wrong = 0;
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      double w = want(x, i, j);
      uint32_t bits = w != w ? 0x7FFFFFFF : ct_bits_of_f32((float)w);
      if (ct_bits_of_f32(x->d[i * N + j]) != bits && n_wrong++ == 0) {
        tap_diag("row %d, column %d: %a instead of %a, c = %a", i, j, (double)x->d[i * N + j], w,
                 (double)x->c[i * N + j]);
      }
    }
  }
  return n_wrong;
}

/* {====== All kinds ====== */

static const CtDtype types[] = {CT_f8e4m3, CT_f8e5m2, CT_f6e3m2, CT_f6e2m3, CT_f4e2m1};
enum { N_PAIRS = 25, N_KINDS = 3 * N_PAIRS + 2 };

/* All pairs with sums in f32, in f16 and with scales; blocks of 32 and of 16 of f4e2m1. */
static void set_kind(Case *x, int kind) {
  bool is_pair = kind < 3 * N_PAIRS;
  x->a = is_pair ? types[kind % 5] : CT_f4e2m1;
  x->b = is_pair ? types[kind / 5 % 5] : CT_f4e2m1;
  x->scale = kind == N_KINDS - 1 ? CT_f8ue4m3 : CT_f8ue8m0;
  x->x = (CtExact){.m = M,
                   .n = N,
                   .groups = 1,
                   .k = is_pair ? 32 : 64,
                   .vec = is_pair               ? kind / N_PAIRS / 2
                          : kind == N_KINDS - 1 ? 4
                                                : 2,
                   .sum = is_pair && kind / N_PAIRS == 1 ? CT_f16 : CT_f32};
}

int main(int argc, char **argv) {
  long n = argc > 1 ? strtol(argv[1], NULL, 10) : SOME_OF(100000);
  static Case x;
  CtRand r;
  ct_rand_seed(&r, 1);
  long done = 0;
  int wrong[N_KINDS] = {0};
  for (int kind = 0; done < n || kind % N_KINDS != 0; kind++, done += M * N) {
    set_kind(&x, kind % N_KINDS);
    make_case(&r, &x);
    ct_exact_product(&x.x, x.of_a, x.of_b, x.of_sfa, x.of_sfb, x.d);
    wrong[kind % N_KINDS] += count_wrong(&x);
  }
  for (int kind = 0; kind < N_KINDS; kind++) {
    set_kind(&x, kind);
    IS_INT(wrong[kind], 0, "%s by %s in %s, %d scales of %s", ct_dtypes[x.a].name,
           ct_dtypes[x.b].name, ct_dtypes[x.x.sum].name, x.x.vec, ct_dtypes[x.scale].name);
  }
  return done_testing();
}
