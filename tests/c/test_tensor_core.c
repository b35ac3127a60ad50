/* test_tensor_core.c: the arithmetic of tensor cores against what an H200 computed, against integers, and
   against its laws. */
#include "tap.h"
#include "tensor_core_oracle.h"
#include "tensor_core_cases.h"

static bool same(float x, float y) { return bits_from(x) == bits_from(y); }

static CtDtype type_of(const CtAtom *atom, CtAtomOperand of) {
  return ct_dtype_from_name(atom->types[of].name);
}

/* {====== Against integers ====== */

static float a[64 * CT_TC_MAX_K], b[CT_TC_MAX_K * 256], c[64 * 256], d[64 * 256];

static int wrong_of(const Variant *variant, const Guess *g, int m, int n, int k) {
  int n_wrong = 0;
  multiply(variant, &g->model, m, n, k, a, b, c, d);
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j += TAP_PART) {
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

static void test_atom(const Variant *variant, const CtAtom *atom, int sm) {
  Guess g = {0};
  CtRand r;
  int n_wrong = 0;
  ct_rand_seed(&r, (uint64_t)sm);
  if (!ct_tc_model(atom, sm, &g.model)) {
    return;
  }
  g.order = g.model.halves_of_4 ? 1 : 0;
  CtDtype types[3] = {type_of(atom, CT_ATOM_A), type_of(atom, CT_ATOM_B), type_of(atom, CT_ATOM_C)};
  for (int round = 0; round < (TAP_IS_SANITIZED ? 1 : 2); round++) {
    for (Kind kind = 0; kind < N_KINDS; kind++) {
      fill_case(&r, kind, types, atom->m, atom->n, atom->k, a, b, c);
      n_wrong += wrong_of(variant, &g, atom->m, atom->n, atom->k);
    }
  }
  if (n_wrong != 0) {
    IS_INT(n_wrong, 0, "%s on sm_%d (%s): the bits of integers", atom->name, sm, variant->name);
  }
}

/* Of products by wgmma and tcgen05 those with the fewest columns, and 64 rows: all rows and columns are alike. */
static bool is_tested(const CtAtom *atom) {
  bool has_many = strcmp(atom->family, "wgmma") == 0 || strcmp(atom->family, "tcgen05") == 0;
  return atom->m <= 64 && (!has_many || atom->n == 8);
}

/* *ud: how many came so far, or -1 after one that is another than its number gives. */
static bool is_next(void *ud, const CtAtom *atom) {
  int *n = ud;
  CtAtom wanted;
  if (*n >= ct_atom_count()) {
    return false;
  }
  ct_atom_get(*n, &wanted);
  *n = strcmp(wanted.name, atom->name) == 0 ? *n + 1 : -1;
  return *n >= 0;
}

static void test_each(void) {
  int n = 0;
  OK(ct_atom_each(is_next, &n), "a visit of all ends at the last");
  IS_INT(n, ct_atom_count(), "and takes them by their numbers");
}

static void test_atoms(size_t v) {
  static const int sms[] = {70, 80, 89, 90};
  int failed = tap_n_failed;
  for (int i = 0; i < ct_atom_count(); i++) {
    CtAtom atom;
    ct_atom_get(i, &atom);
    for (size_t s = 0; s < CT_ARRAY_LEN(sms) && is_tested(&atom); s++) {
      test_atom(&variants[v], &atom, sms[s]);
    }
  }
  IS_INT(tap_n_failed, failed, "%s: the bits of integers", variants[v].name);
}

/* {====== Laws ====== */

/* A product, what the law makes of it, and whether the law holds. */
typedef struct Law {
  const char *name;
  bool (*transform)(CtRand *r, const CtAtom *atom,
                    const Guess *g); /* of a, b, c; false: not for it */
  float (*expect)(float x);          /* of the transformed ones, by the result of the first */
} Law;

static bool is_fused(const Guess *g) { return g->model.sum == CT_TC_FUSED; }

static void negate(float *x, int n) {
  for (int i = 0; i < n; i++) {
    x[i] = -x[i];
  }
}

static bool negate_a_c(CtRand *r, const CtAtom *atom, const Guess *g) {
  (void)r;
  negate(a, atom->m * atom->k);
  negate(c, atom->m * atom->n);
  return is_fused(g);
}

static bool negate_b_c(CtRand *r, const CtAtom *atom, const Guess *g) {
  (void)r;
  negate(b, atom->k * atom->n);
  negate(c, atom->m * atom->n);
  return is_fused(g);
}

static float negative(float x) { return x == 0 ? 0 : x != x ? x : -x; }

static bool negate_products(CtRand *r, const CtAtom *atom, const Guess *g) {
  (void)r;
  (void)g;
  negate(a, atom->m * atom->k);
  negate(b, atom->k * atom->n);
  return true;
}

static float unchanged(float x) { return x; }

static void swap(float *x, float *y) {
  float t = *x;
  *x = *y;
  *y = t;
}

/* Two k of one block, some times. */
static bool permute_blocks(CtRand *r, const CtAtom *atom, const Guess *g) {
  int k = atom->k, m = atom->m, n = atom->n;
  int block = g->model.block < k ? g->model.block : k;
  for (int times = 0; times < 2 * k; times++) {
    int first = any_int(r, 0, k / block - 1) * block;
    int x = ordered(g, k, first + any_int(r, 0, block - 1));
    int y = ordered(g, k, first + any_int(r, 0, block - 1));
    for (int i = 0; i < m; i++) {
      swap(&a[i * k + x], &a[i * k + y]);
    }
    for (int j = 0; j < n; j++) {
      swap(&b[x * n + j], &b[y * n + j]);
    }
  }
  return is_fused(g);
}

static const Law laws[] = {
    {"D of -A, B, -C is -D", negate_a_c, negative},
    {"D of A, -B, -C is -D", negate_b_c, negative},
    {"D of -A, -B, C is D", negate_products, unchanged},
    {"the order within a block does not matter", permute_blocks, unchanged},
};

static int broken(CtRand *r, const Variant *variant, const CtAtom *atom, const Guess *g,
                  const Law *law) {
  static float first[CT_ARRAY_LEN(d)];
  int n_wrong = 0, size = atom->m * atom->n;
  CtDtype types[3] = {type_of(atom, CT_ATOM_A), type_of(atom, CT_ATOM_B), type_of(atom, CT_ATOM_C)};
  for (Kind kind = 0; kind < N_KINDS; kind++) {
    fill_case(r, kind, types, atom->m, atom->n, atom->k, a, b, c);
    multiply(variant, &g->model, atom->m, atom->n, atom->k, a, b, c, first);
    if (!law->transform(r, atom, g)) {
      return 0;
    }
    multiply(variant, &g->model, atom->m, atom->n, atom->k, a, b, c, d);
    for (int i = 0; i < size; i++) {
      n_wrong += !same(law->expect(first[i]), d[i]);
    }
  }
  return n_wrong;
}

/* Small integers: nothing is lost. */
static int inexact(CtRand *r, const Variant *variant, const CtAtom *atom, const Guess *g) {
  int m = atom->m, n = atom->n, k = atom->k, n_wrong = 0;
  for (int i = 0; i < m * k || i < k * n || i < m * n; i++) {
    a[i % (m * k)] = (float)any_int(r, -3, 3);
    b[i % (k * n)] = (float)any_int(r, -3, 3);
    c[i % (m * n)] = (float)any_int(r, -500, 500);
  }
  multiply(variant, &g->model, m, n, k, a, b, c, d);
  for (int i = 0; i < m * n; i++) {
    int sum = (int)c[i];
    for (int l = 0; l < k; l++) {
      sum += (int)a[i / n * k + l] * (int)b[l * n + i % n];
    }
    n_wrong += !same(d[i], (float)sum);
  }
  return n_wrong;
}

static void test_laws(size_t v) {
  static const int sms[] = {70, 80, 89, 90};
  int n_wrong[CT_ARRAY_LEN(laws)] = {0}, n_inexact = 0;
  CtRand r;
  ct_rand_seed(&r, 3);
  for (int i = 0; i < ct_atom_count(); i++) {
    CtAtom atom;
    Guess g = {0};
    ct_atom_get(i, &atom);
    for (size_t s = 0; s < CT_ARRAY_LEN(sms); s++) {
      if (!ct_tc_model(&atom, sms[s], &g.model) || !is_tested(&atom)) {
        continue;
      }
      g.order = g.model.halves_of_4 ? 1 : 0;
      n_inexact += inexact(&r, &variants[v], &atom, &g);
      for (size_t l = 0; l < CT_ARRAY_LEN(laws); l++) {
        n_wrong[l] += broken(&r, &variants[v], &atom, &g, &laws[l]);
      }
    }
  }
  for (size_t l = 0; l < CT_ARRAY_LEN(laws); l++) {
    IS_INT(n_wrong[l], 0, "%s: %s", variants[v].name, laws[l].name);
  }
  IS_INT(n_inexact, 0, "%s: sums of small integers are exact", variants[v].name);
}

/* {====== Against an H200 ====== */

/* With `name`, of an atom; else one element of that atom. */
typedef struct Case {
  const char *name, *a, *b, *c, *d;
} Case;

static const Case cases[] = {
#define ATOM(name) {name, NULL, NULL, NULL, NULL},
#define CASE(a, b, c, d) {NULL, a, b, c, d},
#include "tensor_core_bits.def"
};

/* The i-th number of type `dtype`. */
static float number_of_hex(CtDtype dtype, const char *hex, int i) {
  char digits[17] = {0};
  size_t n = 2 * (size_t)ct_value_bytes(dtype);
  memcpy(digits, hex + (size_t)i * n, n);
  uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
  return n == 8 ? float_from(bits) : (float)ct_float_of_bits(dtype, bits);
}

enum { CASES_AT_ONCE = 20, COPIES = 8 };

/* n cases, some of them again, as one product of `size` rows and columns, whose diagonal are theirs. */
static int wrong_cases(const Variant *variant, const CtAtom *atom, const CtTcModel *model,
                       const Case *some, int n, int size) {
  int k = atom->k, n_wrong = 0;
  for (int i = 0; i < size; i++) {
    for (int l = 0; l < k; l++) {
      a[i * k + l] = number_of_hex(type_of(atom, CT_ATOM_A), some[i % n].a, l);
      b[l * size + i] = number_of_hex(type_of(atom, CT_ATOM_B), some[i % n].b, l);
    }
    for (int j = 0; j < size; j++) {
      c[i * size + j] = number_of_hex(type_of(atom, CT_ATOM_C), some[i % n].c, 0);
    }
  }
  multiply(variant, model, size, size, k, a, b, c, d);
  for (int i = 0; i < size; i++) {
    const Case *it = &some[i % n];
    float want = number_of_hex(type_of(atom, CT_ATOM_D), it->d, 0), got = d[i * size + i];
    want = want != want ? float_from(0x7FFFFFFF) : want;
    if (!same(got, want) && n_wrong++ == 0) {
      tap_diag("got %a, not %a: %s, %s, %s", (double)got, (double)want, it->a, it->b, it->c);
    }
  }
  return n_wrong;
}

/* n cases, behind the name of their atom: together, where one that is not finite takes others along, and
   alone. */
static int wrong_of_atom(const Variant *variant, const Case *of_atom, int n) {
  CtAtom atom;
  CtTcModel model;
  if (!ct_atom_find(of_atom[-1].name, &atom) || !ct_tc_model(&atom, 90, &model)) {
    return n;
  }
  int n_wrong = 0;
  for (int i = 0; i < n; i++) {
    int some = n - i < CASES_AT_ONCE ? n - i : CASES_AT_ONCE;
    n_wrong +=
        i % CASES_AT_ONCE == 0 ? wrong_cases(variant, &atom, &model, &of_atom[i], some, some) : 0;
    n_wrong += wrong_cases(variant, &atom, &model, &of_atom[i], 1, COPIES);
  }
  return n_wrong;
}

static void test_measured(size_t v) {
  int n_wrong = 0, n_atoms = 0, n_cases = (int)CT_ARRAY_LEN(cases);
  for (int i = 0; i < n_cases;) {
    int n = 0;
    n_atoms++;
    i++;
    while (i + n < n_cases && cases[i + n].name == NULL) {
      n++;
    }
    n_wrong += wrong_of_atom(&variants[v], &cases[i], n);
    i += n;
  }
  IS_INT(n_wrong, 0, "%s: %d results of %d atoms on an H200", variants[v].name, n_cases - n_atoms,
         n_atoms);
}

int main(void) {
  test_each();
  for (size_t v = 0; v < CT_ARRAY_LEN(variants); v++) {
    if (can_run(v)) {
      test_atoms(v);
      test_measured(v);
      if (TAP_IS_SANITIZED) {
        SKIP(5, "the laws are of values: at the addresses of the tests above");
      } else {
        test_laws(v);
      }
    } else {
      SKIP(7, "the processor has no such instructions");
    }
  }
  return done_testing();
}
