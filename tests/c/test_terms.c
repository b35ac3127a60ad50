/* test_terms.c: the terms of a tensor (runtime/launch/terms.h): a tensor fits them exactly if a key would say the same
   of it as of the one that they come from. */
#include "runtime/launch/terms.h"

#include <string.h>

#include "tap.h"

enum { RANK = 2, N_LEAVES = 2 * RANK };

static const int64_t values[] = {0,  1,  2,  3,   4,   6,   8,    12,      16,        24,
                                 32, 64, 96, 128, 192, 256, 1000, 1048576, 536870912, 1073741824};
enum { N_VALUES = sizeof values / sizeof *values };

/* What a key says of an extent or a stride, as launch_key.c puts it: a constant, or its divisor. */
static int class_of(bool is_extent, int64_t v, CtDtype dtype) {
  int log = 0, most = is_extent ? 7 : dtype == CT_f64 ? 1 : dtype == CT_f32 ? 2 : 4;
  if (!is_extent && v < 2) {
    return 100 + (int)v;
  }
  while (log < most && v % ((int64_t)2 << log) == 0) {
    log++;
  }
  return log;
}

static CtTerm term(bool is_extent, int64_t v, CtDtype dtype, bool is_wide) {
  return !is_extent && v < 2 ? ct_term_constant(v) : ct_term_of(is_extent, v, dtype, is_wide);
}

/* Each number against the terms of each other one. */
static void test_numbers(CtDtype dtype) {
  int n_wrong = 0;
  for (int i = 0; i < 2 * N_VALUES * N_VALUES; i++) {
    bool is_extent = i % 2 == 0;
    int64_t v = values[i / 2 % N_VALUES], w = values[i / 2 / N_VALUES];
    CtTerm t = term(is_extent, v, dtype, false);
    bool fits = t.low <= w && w <= t.high && ((uint64_t)w & t.mask) == t.bits;
    n_wrong += fits != (class_of(is_extent, v, dtype) == class_of(is_extent, w, dtype));
    n_wrong += v != 0 && t.bits + t.mask != 0 && v % ct_term_divisor(&t) != 0;
  }
  OK(n_wrong == 0, "%s: a number fits if its divisor is the same", ct_dtypes[dtype].name);
}

typedef struct Case {
  CtTerms terms;
  CtTerm rows[N_LEAVES];
  int64_t taken[N_LEAVES];
  CtSlotValue slots[1 + N_LEAVES];
} Case;

/* The terms of {n, m} with these strides at an address that 32 divides. */
static void make(Case *c, CtDtype dtype, int64_t n, int64_t m, int64_t sn, int64_t sm, bool wide) {
  const int64_t v[N_LEAVES] = {n, m, sn, sm};
  uint32_t slot = 0;
  memset(c, 0, sizeof *c);
  for (int i = 0; i < N_LEAVES; i++) {
    c->rows[i] = term(i < RANK, v[i], dtype, wide);
    c->rows[i].slot = i >= RANK && v[i] < 2 ? 0 : ++slot;
  }
  c->terms = (CtTerms){.dtype = dtype, .rank = RANK, .align = CT_CALL_MAX_ALIGN, .is_wide = wide};
  c->terms.most_last = ct_terms_most_last(dtype, wide);
  c->terms.terms = c->rows;
  c->terms.taken = c->taken;
}

static bool take(Case *c, uintptr_t at, int64_t n, int64_t m, const int64_t *stride,
                 CtCallSpan *span) {
  const int64_t shape[RANK] = {n, m};
  const CtCallTensor t = {(const void *)at, shape, stride, RANK, c->terms.dtype};
  return ct_terms_take(&c->terms, &t, c->slots, span);
}

static void test_tensors(void) {
  Case c;
  CtCallSpan s;
  const int64_t rows[RANK] = {16, 1}, apart[RANK] = {32, 1}, huge[RANK] = {INT64_MAX, 1};
  make(&c, CT_f32, 32, 16, 16, 1, false);
  OK(take(&c, 4096, 32, 16, rows, &s) && s.begin == 4096 && s.end == 4096 + 2048,
     "the tensor itself fits");
  OK(c.slots[0].i == 4096 && c.slots[1].i == 32 && c.slots[2].i == 16 && c.slots[3].i == 16,
     "its address, extents and the stride that is a value are noted");
  OK(take(&c, 8192, 32, 16, NULL, &s) && s.begin == 8192, "elsewhere, without strides");
  OK(take(&c, 4096, 96, 16, apart, &s) && c.slots[1].i == 96 && c.slots[3].i == 32 &&
         s.end == 4096 + (95 * 32 + 16) * 4,
     "another extent and stride with the same divisors");
  OK(take(&c, 8192, 32, 16, rows, &s) && c.slots[1].i == 32, "and the first one again");
  OK(!take(&c, 4096, 33, 16, rows, &s), "an extent with another divisor does not fit");
  OK(take(&c, 4096, 32, 16, rows, &s) && c.slots[1].i == 32,
     "after it the slots are those of the tensor that does");
  OK(!take(&c, 4096 + 4, 32, 16, rows, &s) && !take(&c, 4096 + 16, 32, 16, rows, &s),
     "nor does another alignment");
  OK(!take(&c, 0, 32, 16, rows, &s), "nor elements at no address");
  OK(!take(&c, 4096, -32, 16, rows, &s) && !take(&c, 4096, INT64_MIN, 16, rows, &s),
     "nor an extent below 0");
  OK(!take(&c, 4096, 32, 16, huge, &s), "nor a stride that reaches too far");
  OK(!take(&c, 4096, INT64_C(1) << 30, 16, rows, &s), "nor what needs 64-bit offsets");
  make(&c, CT_f32, 0, 16, 16, 1, false);
  OK(take(&c, 0, 0, 16, rows, &s) && s.end == 0, "no elements need no address");
  make(&c, CT_f32, INT64_C(1) << 30, 16, 16, 1, true);
  OK(take(&c, 4096, INT64_C(1) << 30, 16, rows, &s) && !take(&c, 4096, 128, 16, rows, &s),
     "a tensor of 64-bit offsets fits its own terms, and a small one does not");
}

/* Terms of all small tensors against all small tensors. */
static void test_law(void) {
  static const int64_t few[] = {0, 1, 2, 4, 6, 16};
  enum { N = sizeof few / sizeof *few, ALL = N * N * N * N };
  int n_wrong = 0;
  for (int i = 0; i < ALL; i++) {
    Case c;
    const int64_t sn = few[i / N / N % N], sm = few[i / N / N / N];
    make(&c, CT_f32, few[i % N], few[i / N % N], sn, sm, false);
    for (int j = 0; j < ALL; j++) {
      const int64_t stride[RANK] = {few[j / N / N % N], few[j / N / N / N]};
      bool same =
          class_of(true, few[i % N], CT_f32) == class_of(true, few[j % N], CT_f32) &&
          class_of(true, few[i / N % N], CT_f32) == class_of(true, few[j / N % N], CT_f32) &&
          class_of(false, sn, CT_f32) == class_of(false, stride[0], CT_f32) &&
          class_of(false, sm, CT_f32) == class_of(false, stride[1], CT_f32);
      CtCallSpan s;
      n_wrong += take(&c, 4096, few[j % N], few[j / N % N], stride, &s) != same;
    }
  }
  OK(n_wrong == 0, "small tensors fit the terms of those with the same key (%d wrong)", n_wrong);
}

int main(void) {
  test_numbers(CT_f64);
  test_numbers(CT_f32);
  test_numbers(CT_u8);
  test_tensors();
  test_law();
  return done_testing();
}
