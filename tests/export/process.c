/* process.c: an exported kernel takes each tensor that a launch in the process takes, and gives the kernel the same
   numbers. The terms are those of rows.lua's first argument, as launch_terms makes them (tests/lua/program/
   export_strides.lua). */
#include EXPORTED /* "rows.c" */

#include <stdlib.h>

#include "runtime/launch/terms.h"

enum { ROUNDS = 300000, RANK = 2 };

static uint64_t state = 1;

static int below(int n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((state >> 33) % (uint64_t)n);
}

static int64_t any_number(void) {
  static const int64_t ends[] = {0,  1,  2,  3,  5,       32,        33,        96,
                                 97, 63, 99, 64, 1 << 30, INT32_MAX, INT64_MAX, (int64_t)1 << 40};
  int64_t at = ends[below(16)];
  return below(4) > 0 ? at : (int64_t)((uint64_t)at + (uint64_t)(below(9) - 4));
}

static CtTerms terms_of(const int64_t *example, CtTerm *rows, int64_t *taken) {
  uint32_t slot = 0;
  for (int i = 0; i < 2 * RANK; i++) {
    rows[i] = ct_term_constant(example[i]);
    if (i < RANK || example[i] > 1) {
      rows[i] = ct_term_of(i < RANK, example[i], CT_f32, false);
      ct_term_bounds(i < RANK, false, &rows[i].low, &rows[i].high);
      rows[i].slot = ++slot;
    }
  }
  return (CtTerms){.dtype = CT_f32,
                   .rank = RANK,
                   .align = CT_CALL_MAX_ALIGN,
                   .most_last = ct_terms_most_last(CT_f32, false),
                   .terms = rows,
                   .taken = taken};
}

int main(void) {
  const int64_t example[2 * RANK] = {32, 3, 1, 32};
  const rows_special *special = &rows_rows__kernel.specials[0];
  const rows_rule *rule = &special->rules[0];
  CtTerm rows[2 * RANK];
  int64_t taken[2 * RANK];
  CtTerms terms = terms_of(example, rows, taken);
  CtSlotValue slots[1 + 2 * RANK] = {{0}}; /* keep what was taken last: so do a launch's */
  int n_process = 0, n_exported = 0, n_wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    int64_t v[2 * RANK];
    for (int k = 0; k < 2 * RANK; k++) {
      v[k] = below(2) == 0 ? example[k] : any_number();
    }
    rows_slot s[1 + 2 * RANK] = {{0}};
    CtCallSpan span;
    rows_span own;
    rows_tensor t = {.data = (void *)4096, .dtype = ROWS_F32, .rank = RANK};
    memcpy(t.shape, v, sizeof *v * RANK);
    memcpy(t.stride, v + RANK, sizeof *v * RANK);
    const CtCallTensor call = {t.data, v, v + RANK, RANK, CT_f32};
    bool process = ct_terms_take(&terms, &call, slots, &span);
    bool exported = rows_take_tensor(rule, &special->modes[rule->modes], &t, s, &own);
    bool same = span.begin == own.begin && span.end == own.end;
    for (int k = 1; k < 1 + 2 * RANK - 1; k++) { /* the stride of mode 0 is a constant */
      same = same && slots[k].i == s[k].i;
    }
    n_process += process;
    n_exported += exported;
    n_wrong += process && (!exported || !same);
  }
  printf("%d wrong%s\n", n_wrong, n_process > 1000 && n_exported > n_process ? "" : ", too few");
  return 0;
}
