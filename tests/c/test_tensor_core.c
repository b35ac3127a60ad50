/* test_tensor_core.c: the arithmetic of tensor cores against integers and against its laws. */
#include "tap.h"
#include "tensor_core_oracle.h"
#include "tensor_core_cases.h"

static const struct {
  const char *name;
  CtTcMma *mma;
} variants[] = {
    {"base", ct_tc_mma_base},
#if defined(__x86_64__)
    {"avx2", ct_tc_mma_avx2},
    {"avx512", ct_tc_mma_avx512},
#endif
};

static bool can_run(size_t variant) {
#if defined(__x86_64__)
  return variant == 0 || (variant == 1 && __builtin_cpu_supports("avx2")) ||
         (variant == 2 && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"));
#else
  return variant == 0;
#endif
}

static bool same(float x, float y) { return bits_from(x) == bits_from(y); }

/* {====== Against integers ====== */

static float a[64 * CT_TC_MAX_K], b[CT_TC_MAX_K * 256], c[64 * 256], d[64 * 256];

static int wrong_of(CtTcMma *mma, const Guess *g, int m, int n, int k) {
  int n_wrong = 0;
  mma(&g->model, m, n, k, a, b, c, d);
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) {
      float col[CT_TC_MAX_K];
      for (int l = 0; l < k; l++) {
        col[l] = b[l * n + j];
      }
      float want = oracle(g, k, a + i * k, col, c[i * n + j]);
      if (!same(d[i * n + j], want) && n_wrong++ == 0) {
        tap_diag("got %a, not %a, with c = %a", (double)d[i * n + j], (double)want,
                 (double)c[i * n + j]);
      }
    }
  }
  return n_wrong;
}

static void test_atom(CtTcMma *mma, const char *variant, const CtAtom *atom, int sm) {
  Guess g = {0};
  CtRand r;
  int n_wrong = 0;
  ct_rand_seed(&r, (uint64_t)sm);
  if (!ct_tc_model(atom, sm, &g.model)) {
    return;
  }
  g.order = g.model.halves_of_4 ? 1 : 0;
  CtDtype types[3] = {ct_dtype_from_name(atom->types[CT_ATOM_A].name),
                      ct_dtype_from_name(atom->types[CT_ATOM_B].name),
                      ct_dtype_from_name(atom->types[CT_ATOM_C].name)};
  for (int round = 0; round < 2; round++) {
    for (Kind kind = 0; kind < N_KINDS; kind++) {
      fill_case(&r, kind, types, atom->m, atom->n, atom->k, a, b, c);
      n_wrong += wrong_of(mma, &g, atom->m, atom->n, atom->k);
    }
  }
  if (n_wrong != 0) {
    IS_INT(n_wrong, 0, "%s on sm_%d (%s): the bits of integers", atom->name, sm, variant);
  }
}

static void test_atoms(size_t v) {
  static const int sms[] = {70, 80, 89, 90};
  int failed = tap_n_failed;
  for (int i = 0; i < ct_atom_count(); i++) {
    CtAtom atom;
    ct_atom_get(i, &atom);
    for (size_t s = 0; s < CT_ARRAY_LEN(sms) && (strcmp(atom.family, "wgmma") != 0 || atom.n == 8);
         s++) {
      test_atom(variants[v].mma, variants[v].name, &atom, sms[s]);
    }
  }
  IS_INT(tap_n_failed, failed, "%s: the bits of integers", variants[v].name);
}

int main(void) {
  for (size_t v = 0; v < CT_ARRAY_LEN(variants); v++) {
    if (can_run(v)) {
      test_atoms(v);
    } else {
      SKIP(1, "the processor has no such instructions");
    }
  }
  return done_testing();
}
