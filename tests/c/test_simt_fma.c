/* test_simt_fma.c: the CPU engine rounds a fused multiply-add once, alone in every mix of lanes and
   scalars as well as in sums of products, on random and awkward operands and on every instruction
   set of this CPU: bit for bit fma, and for f32 what integers give. */
#include "emit_kernels.h"

#include "runtime/simt/simt.h"
#include "runtime/simt/run/simt_scalar.h"

#include "ref_fma.h"
#include "simt_listing.h"
#include "tap.h"

enum {
  BLOCK = 64,
  N_BLOCKS = 300,
  N = BLOCK * N_BLOCKS,
  STEPS = 5,
  N_FORMS = 8,
  N_PATTERNS = 3,
  N_DOTS = N_PATTERNS * N_PATTERNS,
  MAX_OUT = N_DOTS
};

static uint64_t seed = 1;
static uint32_t random_bits(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 32);
}
static int random_from(int lo, int hi) { return lo + (int)(random_bits() % (uint32_t)(hi - lo)); }

/* --- operands ------------------------------------------------------------------------------------ */

typedef union Bits_f32 {
  uint32_t bits;
  float v;
} Bits_f32;
typedef union Bits_f64 {
  uint64_t bits;
  double v;
} Bits_f64;

static float random_f32(void) { return (Bits_f32){.bits = random_bits()}.v; }
static double random_f64(void) {
  return (Bits_f64){.bits = (uint64_t)random_bits() << 32 | random_bits()}.v;
}

/* PRECISION: bits of the significand. The functions are those of <math.h>. */
#define OPERANDS(T, S, PRECISION, LARGEST, SMALLEST, SCALE)                                         \
  static T corner_##S(void) {                                                                       \
    static const T values[] = {0,       1,           3,     (T)0.1, SMALLEST, 3 * SMALLEST,         \
                               LARGEST, (T)INFINITY, (T)NAN};                                       \
    T v = values[random_bits() % CT_ARRAY_LEN(values)];                                             \
    return random_bits() % 2 == 0 ? v : -v;                                                         \
  }                                                                                                 \
  /* A few bits more than half of a significand: a product of two often lies half way. */           \
  static T half_##S(void) {                                                                         \
    int bits = PRECISION / 2 + 1;                                                                   \
    return (T)(random_bits() % (1u << bits) | 1);                                                   \
  }                                                                                                 \
  static T mild_##S(void) {                                                                         \
    return SCALE((T)random_from(-(1 << 23), 1 << 23), random_from(-30, -16)) / 3;                   \
  }                                                                                                 \
  /* Any bits; awkward values; a sum that cancels; a product half way and a little more or less. */ \
  static void triple_##S(T v[3]) {                                                                  \
    int kind = random_from(0, 4);                                                                   \
    for (int j = 0; j < 3; j++) {                                                                   \
      v[j] = kind == 1 ? corner_##S() : kind == 3 ? half_##S() : random_##S();                      \
    }                                                                                               \
    if (kind == 2) {                                                                                \
      v[2] = SCALE(v[0] * v[1], random_from(-PRECISION - 2, PRECISION + 2)) *                       \
             (T)(random_from(0, 2) * 2 - 1);                                                        \
    } else if (kind == 3) {                                                                         \
      v[2] = SCALE((T)random_from(-1, 2), random_from(-100, 4));                                    \
    }                                                                                               \
  }                                                                                                 \
  static bool same_##S(T a, T b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0; }
OPERANDS(float, f32, 24, 0x1.fffffep127f, 0x1p-149f, ldexpf)
OPERANDS(double, f64, 53, 0x1.fffffffffffffp1023, 0x0.0000000000001p-1022, ldexp)

/* --- the oracle for f32: integers ---------------------------------------------------------------- */

__extension__ typedef unsigned __int128 Wide;

/* A finite number: +-m * 2^e. */
typedef struct Term {
  bool is_negative;
  Wide m;
  int e;
} Term;

static Term term_of(float v) {
  uint32_t bits = (Bits_f32){.v = v}.bits, field = bits >> 23 & 255;
  Wide m = (bits & 0x7FFFFF) | (field != 0 ? 0x800000u : 0);
  return (Term){bits >> 31 != 0, m, (field != 0 ? (int)field : 1) - 150};
}

/* m * 2^-n, towards 0; bits that are lost leave the last one set. */
static Wide sticky(Wide m, int n) { return n >= 128 ? m != 0 : m >> n | ((m >> n) << n != m); }

static Term brought_to(Term t, int e) {
  t.m = t.e >= e ? t.m << (t.e - e) : sticky(t.m, e - t.e);
  t.e = e;
  return t;
}

/* Neither is 0. */
static Term sum_of(Term a, Term b) {
  int e = (a.e > b.e ? a.e : b.e) - 64;
  a = brought_to(a, e);
  b = brought_to(b, e);
  if (a.is_negative == b.is_negative) {
    a.m += b.m;
  } else if (a.m >= b.m) {
    a.m -= b.m;
  } else {
    a = (Term){b.is_negative, b.m - a.m, a.e};
  }
  return a;
}

static int count_bits(Wide m) {
  int n = 0;
  for (; m != 0; m >>= 1) {
    n++;
  }
  return n;
}

/* To the nearest f32, ties to even: to 24 bits, or a multiple of 2^-149. */
static float rounded(Term t) {
  int by_size = count_bits(t.m) - 24, by_place = -149 - t.e;
  int drop = by_size > by_place ? by_size : by_place;
  if (drop <= 0) {
    return ldexpf(t.is_negative ? -(float)t.m : (float)t.m, t.e);
  }
  uint32_t quarters = (uint32_t)sticky(t.m << 2, drop), whole = quarters >> 2;
  whole += (quarters & 3) > 2 || ((quarters & 3) == 2 && (whole & 1) != 0);
  return ldexpf(t.is_negative ? -(float)whole : (float)whole, t.e + drop);
}

static float exact_fmaf(float a, float b, float c) {
  double product = (double)a * (double)b;
  if (!isfinite(a) || !isfinite(b) || !isfinite(c) || product == 0 || c == 0) {
    return (float)(product + (double)c); /* exact, or not finite */
  }
  Term x = term_of(a), y = term_of(b);
  Term sum = sum_of((Term){x.is_negative != y.is_negative, x.m * y.m, x.e + y.e}, term_of(c));
  return sum.m == 0 ? 0 : rounded(sum);
}

/* --- kernels: x, y, z and then the results; operand j is x[i], or x[block] where it is a scalar --- */

static CtVal at_thread(Kit *k) { return add(k, mul(k, bid(k, 0), num(k, BLOCK)), tid(k, 0)); }

static void build_forms(Kit *k, const CtView in[3], const CtView *out) {
  CtVal v[3][2];
  for (int j = 0; j < 3; j++) {
    v[j][0] = ct_ir_load(&k->ir, in[j].buf, at_thread(k));
    v[j][1] = ct_ir_load(&k->ir, in[j].buf, bid(k, 0));
  }
  for (int f = 0; f < N_FORMS; f++) {
    CtVal r = ct_ir_fma(&k->ir, v[0][f & 1], v[1][f >> 1 & 1], v[2][f >> 2 & 1]);
    ct_ir_store(&k->ir, out[f].buf, at_thread(k), r);
  }
}

/* Lanes in memory: side by side, rows of the same, scattered. */
static int pattern_at(int pattern, int t) {
  return pattern == 0 ? t : pattern == 1 ? t / 16 : t * 7 % 32;
}
static CtVal pattern_val(Kit *k, int pattern) {
  CtVal t = tid(k, 0);
  return pattern == 0   ? t
         : pattern == 1 ? op2(k, CT_OP_FLOORDIV, t, num(k, 16))
                        : op2(k, CT_OP_FLOORMOD, mul(k, t, num(k, 7)), num(k, 32));
}

static void build_dots(Kit *k, const CtView in[3], const CtView *out) {
  CtVal base = mul(k, bid(k, 0), num(k, BLOCK)), of[N_PATTERNS];
  for (int p = 0; p < N_PATTERNS; p++) {
    of[p] = add(k, base, pattern_val(k, p));
  }
  for (int f = 0; f < N_DOTS; f++) {
    CtVal sum = ct_ir_load(&k->ir, in[2].buf, at_thread(k));
    at(k, 10 + f);
    for (int i = 0; i < STEPS; i++) {
      CtVal x = ct_ir_load(&k->ir, in[0].buf, add(k, of[f % N_PATTERNS], num(k, i)));
      CtVal y = ct_ir_load(&k->ir, in[1].buf, add(k, of[f / N_PATTERNS], num(k, 2 * i)));
      sum = ct_ir_fma(&k->ir, x, y, sum);
    }
    ct_ir_store(&k->ir, out[f].buf, at_thread(k), sum);
  }
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *s = strstr(text, word); s != NULL; s = strstr(s + 1, word)) {
    n++;
  }
  return n;
}

static CtSimtProgram *build(CtDtype t, bool dots, CtIr *keep) {
  static const char *const names[] = {"x", "y", "z"};
  Kit k;
  CtView in[3], out[MAX_OUT];
  kit_begin(&k, "fma", 0, BLOCK, 1);
  at(&k, 1);
  for (int j = 0; j < 3; j++) {
    in[j] = tensor(&k, names[j], t, "(?)", "(1)");
  }
  for (int f = 0; f < (dots ? N_DOTS : N_FORMS); f++) {
    out[f] = tensor(&k, "out", t, "(?)", "(1)");
  }
  at(&k, 2);
  (dots ? build_dots : build_forms)(&k, in, out);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtSimtProgram *p;
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &p, &k.err));
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  list_program(p, &text);
  if (dots) {
    IS_INT(count(ct_text_str(&text), "DOT_"), N_DOTS, "each sum of %s is one instruction",
           ct_dtypes[t].name);
  }
  ct_text_clear(&text);
  *keep = k.ir;
  return p;
}

/* --- running and comparing ------------------------------------------------------------------------ */

static bool launch(CtSimtEngine *e, const CtSimtProgram *p, const CtIr *ir, int64_t n,
                   void *const *mem) {
  CtSlotValue slots[2 * (3 + MAX_OUT)];
  int64_t n_elems[3 + MAX_OUT];
  CtErr err = {0};
  for (size_t i = 0; i < ir->n_params; i++) {
    slots[ir->params[i].first_slot].ptr = mem[i];
    slots[ir->params[i].first_slot + 1].i = n;
    n_elems[i] = n;
  }
  CtSimtLaunch l = {.grid = {N_BLOCKS, 1, 1}, .slots = slots, .n_elems = n_elems};
  if (ct_simt_run(e, p, &l, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    return false;
  }
  return true;
}

/* The last threads of the last block read up to 2 * STEPS elements more. */
enum { MEM = N + 2 * STEPS };

#define TEST(T, S, FMA)                                                                            \
  static T mem_##S[3 + MAX_OUT][MEM];                                                              \
  static T form_##S(int f, int i) {                                                                \
    int b = i / BLOCK;                                                                             \
    return FMA(mem_##S[0][f & 1 ? b : i], mem_##S[1][f & 2 ? b : i], mem_##S[2][f & 4 ? b : i]);   \
  }                                                                                                \
  static T dot_##S(int f, int i) {                                                                 \
    int base = i / BLOCK * BLOCK, t = i % BLOCK;                                                   \
    const T *x = &mem_##S[0][base + pattern_at(f % N_PATTERNS, t)];                                \
    const T *y = &mem_##S[1][base + pattern_at(f / N_PATTERNS, t)];                                \
    T sum = mem_##S[2][i];                                                                         \
    for (int step = 0; step < STEPS; step++) {                                                     \
      sum = FMA(x[step], y[2 * step], sum);                                                        \
    }                                                                                              \
    return sum;                                                                                    \
  }                                                                                                \
  static void fill_##S(bool dots) {                                                                \
    for (int i = 0; i < MEM; i++) {                                                                \
      T v[3];                                                                                      \
      triple_##S(v);                                                                               \
      for (int j = 0; j < 3; j++) { /* of sums most stay finite */                                 \
        mem_##S[j][i] = dots && random_from(0, 100) > 0 ? mild_##S() : v[j];                       \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static int wrong_##S(bool dots) {                                                                \
    int wrong = 0;                                                                                 \
    for (int f = 0; f < (dots ? N_DOTS : N_FORMS); f++) {                                          \
      for (int i = 0; i < N; i++) {                                                                \
        T want = dots ? dot_##S(f, i) : form_##S(f, i), got = mem_##S[3 + f][i];                   \
        if (!same_##S(got, want) && wrong++ < 3) {                                                 \
          tap_diag("form %d, thread %d: got %a, want %a", f, i, (double)got, (double)want);        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    return wrong;                                                                                  \
  }                                                                                                \
  static void test_##S(CtSimtEngine *const *engines, int n_engines, bool dots) {                   \
    CtIr ir;                                                                                       \
    CtSimtProgram *p = build(CT_##S, dots, &ir);                                                   \
    void *mem[3 + MAX_OUT];                                                                        \
    for (int i = 0; i < 3 + MAX_OUT; i++) {                                                        \
      mem[i] = mem_##S[i];                                                                         \
    }                                                                                              \
    fill_##S(dots);                                                                                \
    for (int i = 0; i < n_engines; i++) {                                                          \
      memset(mem_##S[3], 0x55, MAX_OUT * sizeof mem_##S[3]);                                       \
      OK(launch(engines[i], p, &ir, MEM, mem) && wrong_##S(dots) == 0, "%s: %s of " #S,            \
         ct_simt_isa(engines[i]), dots ? "sums of products" : "fused multiply-adds");              \
    }                                                                                              \
    ct_simt_free(p);                                                                               \
    ct_ir_clear(&ir);                                                                              \
  }
TEST(float, f32, exact_fmaf)
TEST(double, f64, ref_fma)

/* Where there is no fused multiply-add in hardware it is made of double arithmetic. */
static void test_soft_fma(void) {
  int wrong = 0;
  for (int i = 0; i < 1000000; i++) {
    float v[3];
    triple_f32(v);
    float got = FMA_f32(v[0], v[1], v[2]), want = exact_fmaf(v[0], v[1], v[2]);
    if (!same_f32(got, want) && wrong++ == 0) {
      tap_diag("fma(%a, %a, %a): got %a, want %a", (double)v[0], (double)v[1], (double)v[2],
               (double)got, (double)want);
    }
  }
  IS_INT(wrong, 0, "FMA_f32 rounds once");
}

/* The result is never the sum of two zeros: the product is not 0, but too small for a double. */
static void test_tiny_products(void) {
  static const double v[][4] = {{-0x1p-1000, 0x1p-1000, 0, -0.0},
                                {0x1p-1000, 0x1p-1000, -0.0, 0},
                                {-0x1p-1000, -0x1p-1000, -0.0, 0},
                                {0x1p-537, 0x1p-537, 0, 0x1p-1074},
                                {-0x1p-537, 0x1p-538, 0, -0.0},
                                {0, -1, 0, 0},
                                {0, -1, -0.0, -0.0}};
  for (size_t i = 0; i < CT_ARRAY_LEN(v); i++) {
    double got = FMA_f64(v[i][0], v[i][1], v[i][2]);
    OK(same_f64(got, v[i][3]), "FMA_f64(%a, %a, %a) is %a", v[i][0], v[i][1], v[i][2], v[i][3]);
  }
}

int main(void) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  CtSimtEngine *engines[CT_ARRAY_LEN(isas)];
  int n = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(isas); i++) {
    CtErr err;
    n += ct_simt_open(ct_alloc_std, 1, isas[i], &engines[n], &err) == CT_OK;
  }
  OK(n >= 1, "%d instruction sets to test", n);
  test_soft_fma();
  test_tiny_products();
  for (int dots = 0; dots < 2; dots++) {
    test_f32(engines, n, dots != 0);
    test_f64(engines, n, dots != 0);
  }
  for (int i = 0; i < n; i++) {
    ct_simt_close(engines[i]);
  }
  return done_testing();
}
