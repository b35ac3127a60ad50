/* test_simt_convert.c: casts on the CPU engine, on every instruction set of this CPU, against convert.c,
   bit for bit: all values of the narrow types, and for the others those around every value that a narrow
   type can round to, with random ones. */
#include "emit_kernels.h"

#include "runtime/base/convert.h"
#include "runtime/simt/simt.h"

#include <math.h>

#include "tap.h"

enum { BLOCK = 256, N = SOME_OF(1 << 19) };

static uint64_t state = 1;
static uint64_t random_bits(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  uint64_t high = state >> 32;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return high << 32 | state >> 32;
}

/* --- inputs ----------------------------------------------------------------------------------------- */

/* Every upper half with lower halves that lie at the ties of f16 and tf32, of bf16 and of the f8 types,
   and beside them. */
static uint64_t f32_input(size_t i) {
  static const uint32_t low[] = {0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001};
  return (uint64_t)(i >> 3) * TAP_PART << 16 | (i % 16 == 15 ? random_bits() & 0xFFFF : low[i % 8]);
}

/* Those as f64, moved by the last bit to either side; and random ones in the range of f32. */
static uint64_t f64_input(size_t i) {
  uint64_t r = random_bits();
  if (i % 8 == 7) {
    return (r & ~(UINT64_C(0x7FF) << 52)) | (UINT64_C(700) + r % 450) << 52;
  }
  uint64_t bits = ct_convert(CT_f64, CT_f32, f32_input(i));
  return bits + (r % 3) - 1;
}

static uint64_t int_input(CtDtype t) {
  uint64_t r = random_bits(), wide = random_bits();
  wide = (r & 64) != 0 ? wide >> (r & 63) : (UINT64_C(1) << (r & 63)) + (wide & 3) - 2;
  return ct_bits_of_int(t, (int64_t)((r & 128) != 0 ? 0 - wide : wide));
}

static uint64_t input(CtDtype t, size_t i) {
  switch (t) {
    case CT_f32: return f32_input(i);
    case CT_tf32: return f32_input(i) & ~UINT64_C(0x1FFF);
    case CT_f64: return f64_input(i);
    case CT_i64:
    case CT_u64:
    case CT_i32:
    case CT_u32: return int_input(t);
    default: return i; /* all */
  }
}

static size_t count_of(CtDtype t) {
  return ct_dtypes[t].bits < 32 ? (size_t)1 << ct_dtypes[t].bits : N;
}

/* --- one pair of types --------------------------------------------------------------------------------- */

static CtSimtProgram *build(CtDtype to, CtDtype from, CtIr *keep) {
  Kit k;
  kit_begin(&k, "convert", 0, BLOCK, 1);
  at(&k, 1);
  CtView x = tensor(&k, "x", from, "(?)", "(1)"), y = tensor(&k, "y", to, "(?)", "(1)");
  CtVal i = add(&k, mul(&k, bid(&k, 0), num(&k, BLOCK)), tid(&k, 0));
  CtTuple at_i = crd(&k, 1, (CtInt[]){dyn(&k, i)});
  store_at(&k, y, at_i, ct_ir_cast(&k.ir, load_at(&k, x, at_i), to));
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtSimtProgram *p;
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &p, &k.err));
  *keep = k.ir;
  return p;
}

/* A NaN of f32 or f64 that goes to the other is the hardware's affair. */
static bool same(CtDtype to, CtDtype from, uint64_t got, uint64_t want) {
  bool free_nan = (to == CT_f64 || to == CT_f32) && (from == CT_f64 || from == CT_f32);
  return got == want ||
         (free_nan && isnan(ct_float_of_bits(to, got)) && isnan(ct_float_of_bits(to, want)));
}

static uint64_t peek(CtDtype t, const char *p, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, p + i * ct_value_bytes(t), ct_value_bytes(t));
  return bits;
}

static int run_pair(CtDtype to, CtDtype from, CtSimtEngine *e, const CtSimtProgram *p,
                    const CtIr *ir, char *x, char *y, const uint64_t *want) {
  size_t n = count_of(from);
  CtSlotValue slots[8];
  const int64_t n_elems[2] = {(int64_t)n, (int64_t)n};
  for (int i = 0; i < 2; i++) {
    slots[ir->params[i].first_slot].ptr = i == 0 ? x : y;
    slots[ir->params[i].first_slot + 1].i = (int64_t)n;
  }
  CtSimtLaunch launch = {.grid = {(int64_t)n / BLOCK, 1, 1}, .slots = slots, .n_elems = n_elems};
  CtErr err = {0};
  if (ct_simt_run(e, p, &launch, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    return 1;
  }
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t got = peek(to, y, i);
    if (!same(to, from, got, want[i]) && wrong++ < 3) {
      tap_diag("%s: %s %llx to %s: got %llx, want %llx", ct_simt_isa(e), ct_dtypes[from].name,
               (unsigned long long)peek(from, x, i), ct_dtypes[to].name, (unsigned long long)got,
               (unsigned long long)want[i]);
    }
  }
  return wrong;
}

static void test_pair(CtDtype to, CtDtype from, CtSimtEngine *const *engines, int n_engines) {
  static uint64_t x[N], y[N], want[N];
  CtIr ir;
  CtSimtProgram *p = build(to, from, &ir);
  int wrong = 0;
  for (size_t i = 0; i < count_of(from); i++) {
    uint64_t bits = input(from, i);
    memcpy((char *)x + i * ct_value_bytes(from), &bits, ct_value_bytes(from));
    want[i] = ct_convert(to, from, peek(from, (char *)x, i));
  }
  for (int i = 0; i < n_engines; i++) {
    wrong += run_pair(to, from, engines[i], p, &ir, (char *)x, (char *)y, want);
  }
  IS_INT(wrong, 0, "%s to %s", ct_dtypes[from].name, ct_dtypes[to].name);
  ct_simt_free(p);
  ct_ir_clear(&ir);
}

int main(void) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  CtSimtEngine *engines[3];
  int n = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(isas); i++) {
    CtErr err;
    n += ct_simt_open(ct_alloc_std, 2, isas[i], &engines[n], &err) == CT_OK;
  }
  OK(n >= 1, "%d instruction sets to test", n);
  for (int from = CT_f64; from < CT_bool; from++) {
    for (int to = CT_f64; to < CT_bool; to++) {
      if (to != from) {
        test_pair((CtDtype)to, (CtDtype)from, engines, n);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    ct_simt_close(engines[i]);
  }
  return done_testing();
}
