/* tensor_core_fit.h: which of many arithmetics fits a device's results, and the cases that tell them
   apart. Part of test_tensor_core_bits.c. */
#ifndef TENSOR_CORE_FIT_H
#define TENSOR_CORE_FIT_H

enum { PER_KIND = 300, MAX_SAMPLE = PER_KIND * N_KINDS, MAX_GUESSES = 4096, N_BEST = 6 };

static Element sample[MAX_SAMPLE];
static int n_sample;

typedef struct Score {
  Guess guess;
  int n_wrong;
} Score;

static Score scores[MAX_GUESSES];
static int n_scores;

static void take_sample(const Inst *in, const Product *products, int n, CtRand *r) {
  int per_kind[N_KINDS] = {0};
  n_sample = 0;
  for (int tries = 0; tries < 100000 && n_sample < MAX_SAMPLE; tries++) {
    const Product *p = &products[any_int(r, 0, n - 1)];
    if (per_kind[p->kind] < PER_KIND) {
      per_kind[p->kind]++;
      sample[n_sample++] =
          element_of(in, p, any_int(r, 0, in->atom.m - 1), any_int(r, 0, in->atom.n - 1));
    }
  }
}

static bool fits(const Inst *in, const Guess *g, const Element *e) {
  return result_bits(in, oracle(g, e->k, e->a, e->b, e->c)) == e->d_bits;
}

static int count_wrong(const Inst *in, const Guess *g, bool all, int *by_kind) {
  int n_wrong = 0;
  memset(by_kind, 0, N_KINDS * sizeof *by_kind);
  for (int i = 0; i < n_sample; i++) {
    if ((all || sample[i].kind <= HALFWAY) && !fits(in, g, &sample[i])) {
      by_kind[sample[i].kind]++;
      n_wrong++;
    }
  }
  return n_wrong;
}

static int by_wrong(const void *x, const void *y) {
  return ((const Score *)x)->n_wrong - ((const Score *)y)->n_wrong;
}

static void try(const Inst *in, const Guess *g, bool all) {
  int by_kind[N_KINDS];
  if (n_scores < MAX_GUESSES) {
    scores[n_scores++] = (Score){*g, count_wrong(in, g, all, by_kind)};
  }
}

static void sort_scores(void) {
  qsort(scores, (size_t)n_scores, sizeof *scores, by_wrong);
  n_scores = n_scores < N_BEST ? n_scores : N_BEST;
}

/* Blocks, orders of k, binary places, how results are rounded, and when c is added. */
static void try_sums(const Inst *in, const Guess *start) {
  static const int places[] = {10, 11, 12, 13, 14, 21, 22, 23, 24, 25, 26, 27};
  int k = in->atom.k;
  bool is_f16 = in->op[CT_ATOM_D].dtype == CT_f16;
  for (int block = k < 4 ? k : 4; block <= k; block *= 2) {
    for (int order = 0; order < (block < k ? 4 : 1); order++) {
      for (size_t f = 0; f < CT_ARRAY_LEN(places); f++) {
        for (int way = 0; way < (is_f16 ? 2 : 6); way++) {
          Guess g = *start;
          g.model.sum = CT_TC_FUSED;
          g.model.block = block;
          g.model.halves_of_4 = false;
          g.order = order;
          g.model.fraction_bits = places[f];
          g.model.c_last = way % 2 != 0;
          g.to_nearest = way / 2 == 1;
          g.model.round = is_f16 ? CT_TC_F16 : way / 2 == 2 ? CT_TC_E8M13 : CT_TC_F32;
          try(in, &g, false);
        }
      }
    }
  }
  for (int sum = CT_TC_CHAIN; sum <= CT_TC_PAIRS && k == 4; sum++) {
    Guess g = *start;
    g.model.sum = (CtTcSum)sum;
    g.model.block = 4;
    try(in, &g, false);
  }
}

/* Exponents of subnormals. */
static void try_least(const Inst *in, const Guess *start) {
  static const int least[] = {0, -126, -14, -6}; /* 0: as it is */
  for (size_t x = 0; x < CT_ARRAY_LEN(least); x++) {
    for (size_t y = 0; y < CT_ARRAY_LEN(least); y++) {
      Guess g = *start;
      for (int side = 0; side < 2 && least[x] != 0; side++) {
        g.model.min_exponent[side] = least[x];
      }
      g.model.min_exponent[2] = least[y] != 0 ? least[y] : g.model.min_exponent[2];
      try(in, &g, true);
    }
  }
}

/* And those of products, of zeros, and the least one. */
static void try_exponents(const Inst *in, const Guess *start) {
  static const int floors[] = {-280, -168, -158, -150, -149, -142, -140, -136, -134,
                               -133, -132, -130, -127, -126, -125, -40,  -24,  -14};
  for (int way = 0; way < 4; way++) {
    for (size_t f = 0; f < CT_ARRAY_LEN(floors); f++) {
      Guess g = *start;
      g.is_normalised = way % 2 != 0;
      g.zeros_count = way / 2 != 0;
      g.model.floor = floors[f];
      try_least(in, &g);
    }
  }
}

static void report(const Inst *in, const char *what, bool all) {
  for (int i = 0; i < n_scores; i++) {
    const Guess *g = &scores[i].guess;
    const CtTcModel *m = &g->model;
    int by_kind[N_KINDS], at = 0;
    char kinds[256];
    count_wrong(in, g, all, by_kind);
    for (Kind kind = 0; kind < N_KINDS; kind++) {
      at += snprintf(kinds + at, sizeof kinds - (size_t)at, " %d", by_kind[kind]);
    }
    tap_diag(
        "  %s %d wrong (%s ): sum %d block %d order %d places %d round %d%s%s%s%s least %d %d %d floor %d",
        what, scores[i].n_wrong, kinds, (int)m->sum, m->block, g->order, m->fraction_bits,
        (int)m->round, g->to_nearest ? " nearest" : "", m->c_last ? " c-last" : "",
        g->is_normalised ? " normalised" : "", g->zeros_count ? " zeros-count" : "",
        m->min_exponent[0], m->min_exponent[1], m->min_exponent[2], m->floor);
  }
}

static Guess model_guess(const Inst *in) {
  Guess g = {0};
  if (!ct_tc_model(&in->atom, target_sm, &g.model)) {
    CT_UNREACHABLE();
  }
  g.order = g.model.halves_of_4 ? 1 : 0;
  return g;
}

static void fit(const Inst *in, const Product *products, int n) {
  if (in->op[CT_ATOM_A].dtype == CT_f64) {
    return;
  }
  CtRand r;
  ct_rand_seed(&r, 1);
  take_sample(in, products, n, &r);
  Guess start = model_guess(in);
  tap_diag("%s: %d elements, %d of each kind", in->atom.name, n_sample, PER_KIND);
  n_scores = 0;
  try_sums(in, &start);
  sort_scores();
  report(in, "sums", false);
  Guess best = scores[0].guess;
  n_scores = 0;
  try(in, &best, true);
  try_exponents(in, &best);
  sort_scores();
  report(in, "exponents", true);
}

/* {====== Cases ====== */

enum { EACH = 2, MAX_NEIGHBOURS = 20 };

/* Arithmetics that a case should tell from the device's. */
static int neighbours_of(const Inst *in, Guess *out) {
  Guess g = model_guess(in);
  int n = 0;
  out[n] = g, out[n++].model.fraction_bits--;
  out[n] = g, out[n++].model.fraction_bits++;
  out[n] = g, out[n++].model.block *= 2;
  if (g.model.block > 4) {
    out[n] = g, out[n++].model.block /= 2;
  }
  out[n] = g, out[n++].order = g.order == 0 ? 1 : 0;
  out[n] = g, out[n++].order = 3;
  out[n] = g, out[n++].is_normalised = true;
  out[n] = g, out[n++].zeros_count = true;
  out[n] = g, out[n++].to_nearest = true;
  out[n] = g, out[n++].model.c_last = !g.model.c_last;
  out[n] = g, out[n++].model.floor++;
  out[n] = g, out[n++].model.floor--;
  out[n] = g, out[n++].model.is_tf32 = !g.model.is_tf32;
  for (int o = 0; o < 3; o++) {
    out[n] = g, out[n++].model.min_exponent[o]++;
    out[n] = g, out[n++].model.min_exponent[o]--;
  }
  return n;
}

static void put_hex(FILE *out, const Operand *o, const uint64_t *bits, int n) {
  fputc('"', out);
  for (int i = 0; i < n; i++) {
    fprintf(out, "%0*llx", 2 * o->bytes, (unsigned long long)bits[i]);
  }
  fputc('"', out);
}

static void write_case(FILE *out, const Inst *in, const Element *e) {
  fputs("CASE(", out);
  put_hex(out, &in->op[CT_ATOM_A], e->a_bits, e->k);
  fputs(", ", out);
  put_hex(out, &in->op[CT_ATOM_B], e->b_bits, e->k);
  fputs(", ", out);
  put_hex(out, &in->op[CT_ATOM_C], &e->c_bits, 1);
  fputs(", ", out);
  put_hex(out, &in->op[CT_ATOM_D], &e->d_bits, 1);
  fputs(")\n", out);
}

typedef struct Told {
  Guess guesses[MAX_NEIGHBOURS];
  int n_guesses, n_told[MAX_NEIGHBOURS], n_kind[N_KINDS];
} Told;

/* Writes the case when it tells more: the first of each kind, and those that a neighbour gets wrong. */
static void offer_case(FILE *out, const Inst *in, Told *t, const Element *e, bool all_kinds) {
  bool is_wanted = all_kinds && t->n_kind[e->kind] < EACH;
  for (int g = 0; g < t->n_guesses; g++) {
    if (t->n_told[g] < EACH && !fits(in, &t->guesses[g], e)) {
      t->n_told[g]++;
      is_wanted = true;
    }
  }
  if (is_wanted) {
    t->n_kind[e->kind]++;
    write_case(out, in, e);
  }
}

/* Of each kind two, and two more for each neighbour that gets them wrong: from a sample first, and from
   all results of small numbers where the sample does not tell. */
static void write_cases(FILE *out, const Inst *in, const Product *products, int n) {
  if (in->op[CT_ATOM_A].dtype == CT_f64) {
    return;
  }
  Told t = {0};
  t.n_guesses = neighbours_of(in, t.guesses);
  CtRand r;
  ct_rand_seed(&r, 2);
  take_sample(in, products, n, &r);
  fprintf(out, "ATOM(\"%s\")\n", in->atom.name);
  for (int i = 0; i < n_sample; i++) {
    offer_case(out, in, &t, &sample[i], true);
  }
  for (int i = 0; i < n; i++) {
    for (int x = 0; x < in->atom.m * in->atom.n && products[i].kind == SMALL; x++) {
      Element e = element_of(in, &products[i], x / in->atom.n, x % in->atom.n);
      offer_case(out, in, &t, &e, false);
    }
  }
}

#endif
